"""PostgreSQL and SQLite through ADBC: connecting, reading, and the type each column is stored as."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import CoterieError, DataError, MissingExtra, OutputError, ParameterError, nearest
from coterie.table.address import Address, TableName
from coterie.table.columns.cells import check_names, is_text, stored

# One connection to PostgreSQL or SQLite through ADBC, with faults told in our own words.
#
# A driver's message may quote SQL, values or the address, so none is passed on: the SQLSTATE or the kind of
# failure is translated into a sentence here.

# What the driver says when the session cannot be opened: (text of libpq, our problem, our advice).
_REFUSALS = (
    ("authentication failed", "refuses this user or password", "Check user and password in the address."),
    ("no password supplied", "wants a password", "Write it in the address, or in PGPASSWORD or ~/.pgpass."),
    ("translate host name", "was not found by that name", "Check the host in the address."),
    ("Connection refused", "does not answer", "Check host and port, and that the server runs."),
    ("No such file", "does not answer", "Check host and port, and that the server runs."),
    ("timeout expired", "does not answer in time", "Check host and port, and that no firewall is between."),
    ("does not exist", "has no such database or user", "Check the name after the host, and the user."),
    ("no pg_hba.conf entry", "does not admit this computer or user", "Ask the server's administrator."),
)


@contextmanager
def connected(address: Address, fault: type[CoterieError] = DataError) -> Iterator[Any]:
    """A DB-API connection with one open transaction; rolled back unless the block commits."""
    connection = _open(address, fault)
    try:
        yield connection
    finally:
        connection.close()


def _open(address: Address, fault: type[CoterieError]) -> Any:
    driver = _driver(address.kind)
    try:
        return driver.connect(address.url)
    except (driver.Error, OSError) as error:
        text = str(error)
    for sign, problem, advice in _REFUSALS:
        if sign in text:
            raise fault(f"The database {address.shown} {problem}.", advice)
    raise fault(
        f"The database {address.shown} cannot be opened.", "Check the address, and that this user may use it."
    )


def _driver(kind: str) -> ModuleType:
    try:
        if kind == "postgresql":
            import adbc_driver_postgresql.dbapi as driver
        else:
            import adbc_driver_sqlite.dbapi as driver
    except ImportError:
        raise MissingExtra.named("database", "A database as source or target") from None
    return driver  # type: ignore[no-any-return]


def driver_faults(address: Address) -> tuple[type[Exception], ...]:
    """Every exception that a statement can raise: fetching reports some faults as OSError or Arrow's own."""
    return (_driver(address.kind).Error, OSError, pa.ArrowException)


def sqlstate(error: Exception) -> str:
    """PostgreSQL's five-letter code, '' where there is none (SQLite)."""
    return str(getattr(error, "sqlstate", None) or "")


def table_names(connection: Any, kind: str) -> list[str]:
    """Tables and views that can be named without SQL; `schema.name` for those outside the search path."""
    if kind == "sqlite":
        statement = (
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )
        return [name for (name,) in rows(connection, statement)]
    statement = (
        "SELECT n.nspname::text, c.relname::text, pg_catalog.pg_table_is_visible(c.oid)"
        " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p')"
        " AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
    )
    return [
        str(TableName(name, None if visible else schema))
        for schema, name, visible in rows(connection, statement)
    ]


def exists(connection: Any, kind: str, name: TableName) -> bool:
    """Whether the name is taken, by a table or anything else that shares its space of names."""
    if kind == "sqlite":
        statement = f"SELECT count(*) FROM sqlite_master WHERE lower(name) = lower({_literal(name.name)})"
    else:
        statement = f"SELECT count(pg_catalog.to_regclass({_literal(name.sql)}))"
    return bool(rows(connection, statement)[0][0])


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def rows(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def execute(connection: Any, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


# Which type each column gets in a database, and the table cast to exactly what will be read back.

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
    textual = is_text(column.type) or pa.types.is_null(column.type)
    return (pc.cast(column, pa.string()), declaration) if textual else None


# A table or a query of a database in, as Arrow.
#
# PostgreSQL's NUMERIC arrives as text. `numeric(p, s)` with p ≤ 38 becomes decimal128(p, s), which is exact; any other
# becomes float64. The declaration decides that, no cell does; NaN is a missing value. UUID, JSON and other types of the
# vendor become text. MONEY is refused: the driver hands over its smallest unit, not saying how many digits that has.

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
