"""Contributions in pieces: tables to Parquet (zstd) of about 4 MB, and back with every claim checked."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coterie.federation.documents.answers import Chunk
from coterie.federation.documents.canonical import sha256
from coterie.federation.documents.study import StudyAttribute
from coterie.federation.documents.wire import (
    CHUNK_BYTES,
    LARGEST_CHUNK,
    LARGEST_UNPACKED_CHUNK,
    MOST_ROWS_IN_CHUNK,
)
from coterie.federation.errors import FederationError
from coterie.federation.secrets.blinding import COLUMN, LENGTH
from coterie.schema.attributes import AttributeType

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
    columns = [_cast(table.column(field.name), field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return pc.assume_timezone(column, "UTC") if pa.types.is_timestamp(kind) else column.cast(kind)


def packed(table: pa.Table, target: int = CHUNK_BYTES) -> Iterator[tuple[Chunk, bytes]]:
    """Pieces of about `target` bytes. Deterministic: the same table gives the same pieces."""
    rows = _rows_for(table, target)
    for start in range(0, table.num_rows, rows):
        part = table.slice(start, rows)
        data = _parquet(part)
        while len(data) > LARGEST_CHUNK and part.num_rows > 1:  # a part far denser than the first
            yield from packed(part, target // 2)
            break
        else:
            yield Chunk(sha256=sha256(data), size=len(data), rows=part.num_rows), data


def _rows_for(table: pa.Table, target: int) -> int:
    sample = table.slice(0, min(table.num_rows, 50_000))
    per_row = max(len(_parquet(sample)) / sample.num_rows, 0.01)
    return max(1, min(int(target / per_row), MOST_ROWS_IN_CHUNK))


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", write_page_index=False, store_schema=False)
    return sink.getvalue()


def unpacked(path: Path, claimed: Chunk, schema: pa.Schema) -> pa.Table:
    """One received chunk. A hostile file is found by its header, before anything is unpacked."""
    try:
        file = pq.ParquetFile(path)
        header = file.metadata
        size = sum(header.row_group(group).total_byte_size for group in range(header.num_row_groups))
        if size > LARGEST_UNPACKED_CHUNK or header.num_rows != claimed.rows:
            raise _wrong("its header does not fit the manifest")
        if file.schema_arrow.names != schema.names:
            raise _wrong("its columns are not those of the study")
        if [field.type for field in file.schema_arrow] != [field.type for field in schema]:
            raise _wrong("a column has another type than the study says")
        table = file.read()
    except (pa.ArrowException, OSError):
        raise _wrong("it is not a Parquet file that can be read") from None
    if table.num_rows != claimed.rows or any(column.null_count for column in table.columns):
        raise _wrong("it misses values or rows")
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
            raise _wrong(f"column '{attribute.name}' has values outside the declared domain")


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).cast(pa.float64())
    if pa.types.is_timestamp(column.type):
        return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)
    return column.cast(pa.float64(), safe=False)


def _wrong(reason: str) -> FederationError:
    return FederationError(f"A chunk of the contribution is wrong: {reason}.", "Ask the owner what it sent.")
