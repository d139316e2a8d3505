"""A table or a query of a database in, as Arrow.

PostgreSQL's NUMERIC arrives as text. `numeric(p, s)` with p ≤ 38 becomes decimal128(p, s), which is exact; a
bare `numeric`, or one that holds NaN or an infinity, becomes float64. UUID, JSON and other types of the
vendor become text. MONEY is refused: the driver hands over its smallest unit, not saying how many digits
that has.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import DataError, ParameterError, nearest
from coterie.io.address import Address, TableName
from coterie.io.database import connected, driver_faults, sqlstate, table_names

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
    with connected(address) as connection:
        if query is not None:
            return fetch(connection, address, query, None)
        name = TableName.parse(table or "", address.kind)
        return fetch(connection, address, f"SELECT * FROM {name.sql}", name)


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
    if "Type mismatch in column" in text:
        return DataError(
            "A column of the SQLite table holds numbers first and text later.",
            "Correct the table, or cast that column in a query: SELECT CAST(column AS REAL) AS column, …",
        )
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
            column = _number(column, int(field.metadata.get(b"POSTGRESQL:typmod", b"-1")))
        columns.append(column)
        fields.append(pa.field(field.name, column.type))
    return pa.table(columns, schema=pa.schema(fields))


def _stored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.type.extension_name == "arrow.uuid":
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.chunked_array([texts], pa.string())
    storage = column.type.storage_type
    return pa.chunked_array([chunk.storage for chunk in column.chunks], storage)


def _number(column: pa.ChunkedArray, modifier: int) -> pa.ChunkedArray:
    # PostgreSQL packs numeric(p, s) as ((p << 16) | s) + 4, and -1 where neither was declared.
    precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0xFFFF
    if modifier >= 4 and precision <= _WIDEST_DECIMAL128 and scale <= precision:
        ordinary = pc.all(pc.match_substring_regex(column, r"^-?[0-9.]+$")).as_py()
        if ordinary is not False:  # None: there is no value at all
            return pc.cast(column, pa.decimal128(precision, scale))
    return pc.cast(column, pa.float64())
