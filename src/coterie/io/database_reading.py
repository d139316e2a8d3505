"""A table or a query of a database in, as Arrow.

PostgreSQL's NUMERIC arrives as text. `numeric(p, s)` with p ≤ 38 becomes decimal128(p, s), which is exact; any other
becomes float64. The declaration decides that, no cell does; NaN is a missing value. UUID, JSON and other types of the
vendor become text. MONEY is refused: the driver hands over its smallest unit, not saying how many digits that has.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coterie.columns.cells import stored
from coterie.errors import DataError, ParameterError, nearest
from coterie.io.address import Address, TableName
from coterie.io.database import connected, driver_faults, sqlstate, table_names
from coterie.io.names import check_names

_WIDEST_DECIMAL128 = 38


def read_database(url: str, *, table: str | None, query: str | None) -> pa.Table:
    address = Address.parse(url)
    if (table is None) == (query is None):
        raise ParameterError(
            "A database needs either a table or a query."
            if table is None
            else "A table and a query were given.",
            "Name one of the two.",
        )
    if address.path is not None and not address.path.is_file():
        # SQLite would make an empty database of any name.
        raise DataError(f"There is no database file {address.path}.", "Check the path in the address.")
    name = None if query is not None else TableName.parse(table or "", address.kind)
    statement = query if name is None else f"SELECT * FROM {name.sql}"
    assert statement is not None
    with connected(address) as connection:
        if address.path is None:
            return fetch(connection, address, statement, name)
        return _sqlite_cells(connection, address, statement, name)


def _sqlite_cells(connection: Any, address: Address, statement: str, name: TableName | None) -> pa.Table:
    """Cell by cell: SQLite's columns have no type, and the driver takes that of the first rows for all others."""
    assert address.path is not None
    try:
        with closing(sqlite3.connect(f"{address.path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            cursor = opened.execute(statement)
            names = [column[0] for column in cursor.description or ()]
            rows = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        raise _told(connection, address, name, error) from None
    if not names:
        raise ParameterError("The query returns no columns.", "Write one SELECT.")
    check_names(names)
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return pa.table(
        {column: stored(column, list(cells)) for column, cells in zip(names, columns, strict=True)}
    )


def fetch(connection: Any, address: Address, statement: str, name: TableName | None) -> pa.Table:
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            fetched = cursor.fetch_arrow_table()
    except driver_faults(address) as error:
        fault = error
    else:
        if not fetched.num_columns:
            raise ParameterError("The query returns no columns.", "Write one SELECT.")
        return plain_types(fetched)
    connection.rollback()
    raise _told(connection, address, name, fault)


def _told(connection: Any, address: Address, name: TableName | None, error: Exception) -> DataError:
    code, text = sqlstate(error), str(error)
    if "file is not a database" in text:
        return DataError(f"{address.path} is not a SQLite database.", "Check the path in the address.")
    if "is locked" in text:
        return DataError(f"The database {address.shown} is locked.", "Wait until the other program is done.")
    if code == "42501":
        return DataError("This user may not read that table.", "Ask the database's administrator for SELECT.")
    if name is not None and (code in ("42P01", "3F000") or "no such table" in text):
        return DataError(
            f"The database {address.shown} has no table '{name}'.",
            nearest(str(name), table_names(connection, address.kind)),
        )
    what = f"Table '{name}' cannot be read" if name else "The database refuses the query"
    state = f" (SQLSTATE {code})" if code else ""
    return DataError(
        f"{what}{state}.", "Try the statement in the database's own shell, which shows the reason."
    )


def plain_types(table: pa.Table) -> pa.Table:
    """The driver's own types as Arrow's plain ones, and its notes on each field removed."""
    fields, columns = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = (field.metadata or {}).get(b"POSTGRESQL:type", b"")
        if kind == b"money":
            raise DataError(
                f"Column '{field.name}' has the type money, whose number of decimals depends on the server.",
                f'Read it by a query that says: "{field.name}"::numeric(18, 2).',
            )
        if isinstance(field.type, pa.BaseExtensionType):
            column = _stored(column)
        if kind == b"numeric":
            column = _number(field.name, column, int(field.metadata.get(b"POSTGRESQL:typmod", b"-1")))
        columns.append(column)
        fields.append(pa.field(field.name, column.type))
    return pa.table(columns, schema=pa.schema(fields))


def _stored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.type.extension_name == "arrow.uuid":
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.chunked_array([texts], pa.string())
    storage = column.type.storage_type
    return pa.chunked_array([chunk.storage for chunk in column.chunks], storage)


def _number(name: str, column: pa.ChunkedArray, modifier: int) -> pa.ChunkedArray:
    # PostgreSQL packs numeric(p, s) as ((p << 16) | s) + 4, and -1 where neither was declared.
    precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0xFFFF
    numbers = pc.if_else(pc.equal(pc.utf8_lower(column), "nan"), pa.scalar(None, column.type), column)
    try:
        if modifier >= 4 and precision <= _WIDEST_DECIMAL128 and scale <= precision:
            return pc.cast(numbers, pa.decimal128(precision, scale))
        return pc.cast(numbers, pa.float64())
    except pa.ArrowInvalid:
        raise DataError(
            f"Column '{name}' holds numbers that its declared type does not allow.", "Correct the table."
        ) from None
