"""A contribution in pieces: tables to Parquet files of about 4 MB, and back with every claim checked."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field

from coterie.federation.documents import wire
from coterie.federation.documents.signed import Document, sha256
from coterie.federation.documents.study import StudyAttribute
from coterie.federation.errors import FederationError
from coterie.federation.secrets.blinding import COLUMN, LENGTH
from coterie.federation.secrets.keys import OVERHEAD_BYTES
from coterie.schema.attributes import AttributeType

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Chunk(Document):
    sha256: Sha256
    size: Annotated[int, Field(ge=1, le=wire.LARGEST_CHUNK)]
    rows: Annotated[int, Field(ge=1, le=wire.MOST_ROWS_IN_CHUNK)]


_TYPES = {
    AttributeType.CONTINUOUS: pa.float64(),
    AttributeType.INTEGER: pa.int64(),
    AttributeType.DATE: pa.date32(),
    AttributeType.TIMESTAMP: pa.timestamp("us", "UTC"),
    AttributeType.ORDINAL: pa.string(),
    AttributeType.CATEGORICAL: pa.string(),
    AttributeType.BOOLEAN: pa.bool_(),
}


def arrow_schema(attributes: Sequence[StudyAttribute], *, pseudonymous: bool) -> pa.Schema:
    """One type per attribute, whatever each owner's files use."""
    fields = [pa.field(a.name, _TYPES[a.type], nullable=False) for a in attributes]
    if pseudonymous:
        fields.insert(0, pa.field(COLUMN, pa.binary(LENGTH), nullable=False))
    return pa.schema(fields)


def as_sent(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The released table in the types of the study."""
    columns = []
    for field in schema:
        column, moment = table.column(field.name), pa.types.is_timestamp(field.type)
        columns.append(pc.assume_timezone(column, "UTC") if moment else column.cast(field.type))
    return pa.table(columns, schema=schema)


def packed(table: pa.Table, target: int = wire.CHUNK_BYTES) -> Iterator[tuple[Chunk, bytes]]:
    """Pieces of about `target` bytes. Deterministic: the same table gives the same pieces."""
    sample = table.slice(0, min(table.num_rows, 50_000))
    per_row = max(len(canonical_parquet(sample)) / sample.num_rows, 0.01)
    # What hardly needs room packed may need much unpacked.
    unpacked_row = max(table.nbytes / table.num_rows, 1.0)
    rows = max(
        1, min(int(target / per_row), int(wire.UNPACKED_CHUNK_BYTES / unpacked_row), wire.MOST_ROWS_IN_CHUNK)
    )
    for start in range(0, table.num_rows, rows):
        part = table.slice(start, rows)
        data = canonical_parquet(part)
        if len(data) > wire.LARGEST_CHUNK - OVERHEAD_BYTES and part.num_rows > 1:
            yield from packed(part, target // 2)  # far denser than the first rows
        else:
            yield Chunk(sha256=sha256(data), size=len(data), rows=part.num_rows), data


def canonical_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", write_page_index=False, store_schema=False)
    return sink.getvalue()


def unpacked(chunk: Path | BinaryIO, claimed: Chunk, schema: pa.Schema) -> pa.Table:
    """One received chunk. A header can lie about what the file unpacks to: only a process with limits calls this."""
    try:
        file = pq.ParquetFile(chunk)
        header = file.metadata
        size = sum(header.row_group(group).total_byte_size for group in range(header.num_row_groups))
        if size > wire.LARGEST_UNPACKED_CHUNK or header.num_rows != claimed.rows:
            raise _wrong_chunk("its header does not fit the manifest")
        if file.schema_arrow.names != schema.names:
            raise _wrong_chunk("its columns are not those of the study")
        if [field.type for field in file.schema_arrow] != [field.type for field in schema]:
            raise _wrong_chunk("a column has another type than the study says")
        table = file.read()
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise _wrong_chunk("it is not a Parquet file that can be read") from None
    if table.num_rows != claimed.rows or any(column.null_count for column in table.columns):
        raise _wrong_chunk("it misses values or rows")
    return table.cast(schema)


def require_domain(table: pa.Table, attributes: Sequence[StudyAttribute]) -> None:
    """Values that no owner who followed the protocol could send. Named by column only."""
    for attribute in attributes:
        column = table.column(attribute.name)
        declared = attribute.as_attribute()
        if declared.domain is not None:
            numbers = _numbers(column)
            low, high = pc.less(numbers, declared.domain.lower), pc.greater(numbers, declared.domain.upper)
            outside = pc.or_(pc.or_(low, high), pc.is_nan(numbers))
        elif attribute.labels is not None:
            outside = pc.invert(pc.is_in(column, pa.array(attribute.labels, pa.string())))
        else:
            continue
        if pc.any(outside).as_py():
            raise _wrong_chunk(f"column '{attribute.name}' has values outside the declared domain")


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).cast(pa.float64())
    if pa.types.is_timestamp(column.type):
        return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)
    return column.cast(pa.float64(), safe=False)


def _wrong_chunk(reason: str) -> FederationError:
    return FederationError(f"A chunk of the contribution is wrong: {reason}.", "Ask the owner what it sent.")
