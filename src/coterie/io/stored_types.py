"""Which type each column gets in a database, and the table cast to exactly what will be read back."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import OutputError

# Arrow types, the one that is handed to the driver in their place, and PostgreSQL's declaration.
_WHOLE = (
    ({pa.int8(), pa.uint8(), pa.int16()}, pa.int16(), "smallint"),
    ({pa.uint16(), pa.int32()}, pa.int32(), "integer"),
    ({pa.uint32(), pa.int64(), pa.uint64()}, pa.int64(), "bigint"),
)


def prepared(table: pa.Table, kind: str) -> tuple[pa.Table, list[str]]:
    """The table in the types of the database, and the SQL declaration of each column."""
    fields, columns, declarations = [], [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_dictionary(field.type):
            column = pc.cast(column, field.type.value_type)
        try:
            stored = _postgresql(column) if kind == "postgresql" else _sqlite(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            stored = None
        if stored is None:
            raise OutputError(
                f"Column '{field.name}' cannot be stored in a database: its type or range does not fit.",
                "Write a .parquet file, or drop the column.",
            )
        column, declaration = stored
        fields.append(pa.field(field.name, column.type))
        columns.append(column)
        declarations.append(declaration)
    return pa.table(columns, schema=pa.schema(fields)), declarations


def _postgresql(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str] | None:
    kind = column.type
    for types, target, declaration in _WHOLE:
        if kind in types:
            return pc.cast(column, target), declaration
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return pc.cast(column, pa.float32()), "real"
    if pa.types.is_float64(kind):
        return column, "double precision"
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= 38:
        target = pa.decimal128(kind.precision, kind.scale)
        return pc.cast(column, target), f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_boolean(kind):
        return column, "boolean"
    if pa.types.is_date(kind):
        return pc.cast(column, pa.date32()), "date"
    if pa.types.is_timestamp(kind):
        zone = "timestamp with time zone" if kind.tz else "timestamp"
        return pc.cast(column, pa.timestamp("us", "UTC" if kind.tz else None)), zone
    return _text(column, "text")


def _sqlite(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str] | None:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return pc.cast(column, pa.int64()), "INTEGER"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = pc.cast(column, pa.float64())
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers), "REAL"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pc.cast(column, pa.string()), "TEXT"
    return _text(column, "TEXT")


def _text(column: pa.ChunkedArray, declaration: str) -> tuple[pa.ChunkedArray, str] | None:
    kind = column.type
    textual = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return (pc.cast(column, pa.string()), declaration) if textual or pa.types.is_null(kind) else None
