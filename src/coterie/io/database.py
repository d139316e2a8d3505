"""One connection to PostgreSQL or SQLite through ADBC, with faults told in our own words.

A driver's message may quote SQL, values or the address, so none is passed on: the SQLSTATE or the kind of
failure is translated into a sentence here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pyarrow as pa

from coterie.errors import CoterieError, DataError, MissingExtra
from coterie.io.address import Address, TableName

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
