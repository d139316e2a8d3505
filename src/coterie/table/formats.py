"""Which format a file has: its ending decides, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from coterie.errors import nearest
from coterie.table.columnar import (
    read_arrow,
    read_parquet,
    stream_arrow,
    stream_parquet,
    write_arrow,
    write_parquet,
)
from coterie.table.csv_reading import read_csv
from coterie.table.csv_writing import write_csv
from coterie.table.excel_reading import read_sheet

Reader = Callable[[Path], pa.Table]
Writer = Callable[[pa.Table, BinaryIO], None]
StreamWriter = Callable[[pa.RecordBatchReader, BinaryIO], None]

READERS: dict[str, Reader] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".xlsx": read_sheet,
    ".xlsm": read_sheet,
    ".xls": read_sheet,
    ".ods": read_sheet,
}
WRITERS: dict[str, Writer] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".arrow": write_arrow,
    ".feather": write_arrow,
}
# What can be written without ever being in memory as a whole.
STREAM_WRITERS: dict[str, StreamWriter] = {
    ".parquet": stream_parquet,
    ".arrow": stream_arrow,
    ".feather": stream_arrow,
}


def ending(path: Path) -> str:
    """`.csv`, or `.csv.gz` for a compressed one; lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def ending_problem(path: Path) -> str:
    found = ending(path)
    return (
        f"'{path.name}' ends in '{found}', which Coterie does not know."
        if found
        else f"'{path.name}' has no ending."
    )


def ending_advice(path: Path, known: dict[str, Reader] | dict[str, Writer] | dict[str, StreamWriter]) -> str:
    suggestion = nearest(ending(path), known) if ending(path) else ""
    every = f"Coterie knows {', '.join(sorted(known))}."
    return f"{suggestion} {every}" if suggestion.startswith("Did") else every
