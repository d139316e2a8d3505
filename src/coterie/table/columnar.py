"""Parquet and Arrow IPC files, in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from coterie.errors import DataError

_PARQUET_MAGIC = b"PAR1"
_ARROW_FILE_MAGIC = b"ARROW1"
_FEATHER_1_MAGIC = b"FEA1"


def read_parquet(path: Path) -> pa.Table:
    if _start(path, 4) != _PARQUET_MAGIC:
        raise DataError(
            f"{path} is not a Parquet file, whatever its name says.",
            "Give it the ending of what it is: .csv, .csv.gz, .arrow or .feather.",
        )
    try:
        # Not pq.read_table: that would take columns from folder names such as `year=2020/`.
        with pq.ParquetFile(path, memory_map=True) as file:
            return file.read()
    except (pa.ArrowException, OSError):
        raise DataError(
            f"{path} is a damaged or unfinished Parquet file.", "Copy or write it again."
        ) from None


def read_arrow(path: Path) -> pa.Table:
    """Feather 2 is the Arrow IPC file format; a stream has no magic word and is recognised by reading it."""
    start = _start(path, 6)
    if start.startswith(_FEATHER_1_MAGIC):
        raise DataError(f"{path} is a Feather file of version 1.", "Write it again as Feather 2 or Parquet.")
    try:
        with pa.memory_map(str(path)) as source:
            opened = ipc.open_file(source) if start == _ARROW_FILE_MAGIC else ipc.open_stream(source)
            return opened.read_all()
    except (pa.ArrowException, OSError, EOFError):
        raise DataError(
            f"{path} is not a complete Arrow or Feather file.",
            "Write it again, or give it the ending of what it is: .csv, .csv.gz or .parquet.",
        ) from None


def write_parquet(table: pa.Table, sink: BinaryIO) -> None:
    pq.write_table(table, sink, **_parquet_options(table.schema))


def stream_parquet(batches: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """One row group a batch: no more than that is ever in memory."""
    with pq.ParquetWriter(sink, batches.schema, **_parquet_options(batches.schema)) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _parquet_options(schema: pa.Schema) -> dict[str, Any]:
    # Snappy: three times as fast as zstd. A dictionary of floats costs half of the time and saves nothing; longer
    # batches save a twentieth.
    repetitive = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return {"compression": "snappy", "use_dictionary": repetitive or False, "write_batch_size": 1 << 16}


def write_arrow(table: pa.Table, sink: BinaryIO) -> None:
    with ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def stream_arrow(batches: pa.RecordBatchReader, sink: BinaryIO) -> None:
    with ipc.new_file(sink, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _start(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length)
