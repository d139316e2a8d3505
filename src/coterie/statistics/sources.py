"""Where the records are: DuckDB for files and data frames, the database itself for a URL.

Only aggregates leave the engine. An error of the engine is never passed on as it is: its text may hold
values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from coterie.errors import DataError, MissingExtra, ParameterError, nearest
from coterie.io.address import Address, TableName, is_database, quoted
from coterie.io.database import connected, driver_faults
from coterie.io.digest import table_digest
from coterie.io.formats import ending
from coterie.io.reading import read_table
from coterie.statistics.sql import DUCKDB, POSTGRESQL, Dialect, literal


class EngineFault(DataError):
    """The engine refused a statement."""


class Source(Protocol):
    """An open source of records."""

    dialect: Dialect
    relation: str
    columns: tuple[str, ...]
    identity: str

    def rows(self, statement: str) -> list[tuple[Any, ...]]: ...


@dataclass
class _Opened:
    dialect: Dialect
    relation: str
    columns: tuple[str, ...]
    identity: str  # names the data for the ledger, which the steward keeps; never published
    connection: Any
    faults: tuple[type[Exception], ...]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        try:
            if self.dialect is DUCKDB:  # a cursor of DuckDB does not see registered tables
                return list(self.connection.execute(statement).fetchall())
            with self.connection.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
        except self.faults as error:
            kind = type(error).__name__
            if self.dialect is POSTGRESQL:  # it answers nothing more in a failed transaction
                self.connection.rollback()
        raise EngineFault(
            f"The engine could not compute the statistics ({kind}).",
            "Check that the columns used for numbers hold numbers, and that the table can be read.",
        )


@contextmanager
def open_source(data: Any, table: str | None = None) -> Iterator[Source]:
    """A file, a database URL with a table, or a data frame (anything that read as Arrow)."""
    if isinstance(data, str | Path) and is_database(data):
        with _database(str(data), table) as source:
            yield source
        return
    if table is not None:
        raise ParameterError("A table was named, but the source is a file.", "Leave out --table.")
    duckdb = _duckdb()
    connection = duckdb.connect(":memory:")
    try:
        yield _file(connection, duckdb, data)
    finally:
        connection.close()


def _file(connection: Any, duckdb: Any, data: Any) -> Source:
    faults = (duckdb.Error,)
    if isinstance(data, str | Path):
        path = Path(data)
        if not path.is_file():
            raise DataError(f"There is no file {path}.", "Check the path given as --data.")
        identity = _file_digest(path)
        kind = ending(path)
        # DuckDB would read other files for a name with * ? [ in it.
        plain = not set("*?[\\'") & set(str(path))
        if kind in (".csv", ".csv.gz") and plain:
            # Everything as text: no guess about types can turn "yes" into a truth value or 007 into 7.
            relation = f"read_csv({literal(str(path))}, all_varchar = true, header = true)"
        elif kind == ".parquet" and plain:
            relation = f"read_parquet({literal(str(path))})"
        else:
            connection.register("people", read_table(path))
            relation = "people"
    else:
        frame = _arrow(data)
        identity = f"frame {table_digest(frame)}"
        connection.register("people", frame)
        relation = "people"
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    except faults:
        raise DataError(f"{_shown(data)} cannot be read as a table.", "Check the file.") from None
    return _Opened(DUCKDB, relation, tuple(row[0] for row in described), identity, connection, faults)


@contextmanager
def _database(url: str, table: str | None) -> Iterator[Source]:
    address = Address.parse(url)
    if not table:
        raise ParameterError("The source is a database, but no table was named.", "Give --table NAME.")
    name = TableName.parse(table, address.kind)
    if address.kind == "sqlite":
        duckdb = _duckdb()
        connection = duckdb.connect(":memory:")
        try:
            # SQLite has no LEAST, no floor and no exact sums: its table is handed to DuckDB.
            connection.register("people", read_table(url, table=table))
            described = connection.execute("DESCRIBE SELECT * FROM people").fetchall()
            columns = tuple(row[0] for row in described)
            yield _Opened(DUCKDB, "people", columns, f"{address.shown} {name}", connection, (duckdb.Error,))
        finally:
            connection.close()
        return
    with connected(address) as connection:
        identity = f"{address.shown} {name}"
        opened = _Opened(POSTGRESQL, name.sql, (), identity, connection, driver_faults(address))
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT * FROM {name.sql} LIMIT 0")
                opened.columns = tuple(entry[0] for entry in cursor.description)
        except driver_faults(address):
            raise DataError(
                f"The database {address.shown} has no table {name} that this user may read.", "Check --table."
            ) from None
        yield opened


@contextmanager
def naming_columns(source: Source, columns: set[str]) -> Iterator[None]:
    """An engine that refuses text in a number column does not say where, and its own words may hold the text."""
    try:
        yield
    except EngineFault:
        for column in sorted(columns):
            number = source.dialect.number.format(quoted(column))
            try:
                source.rows(f"SELECT COUNT({number}) FROM {source.relation} AS people")
            except EngineFault:
                raise DataError(
                    f"Column '{column}' holds text that is not a number.",
                    "Clean that column; or make a view in which it is a number, and name the view as the table.",
                ) from None
        raise


def require_columns(source: Source, names: set[str]) -> None:
    for name in sorted(names):
        if name not in source.columns:
            raise DataError(f"The data have no column '{name}'.", nearest(name, source.columns))


def relation_without_missing(source: Source, dropping: list[str]) -> str:
    """The records, without those that miss a value in a column whose schema says `missing: drop row`."""
    if not dropping:
        return f"{source.relation} AS people"
    conditions = " AND ".join(f"{source.dialect.number.format(quoted(c))} IS NOT NULL" for c in dropping)
    return f"(SELECT * FROM {source.relation} AS everyone WHERE {conditions}) AS people"


def _arrow(data: Any) -> Any:
    import narwhals as nw
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data
    try:
        return nw.from_native(data, eager_only=True).to_arrow()
    except TypeError:
        raise DataError(
            "This is neither a file, a database URL nor a data frame.", "Give pandas, polars or pyarrow."
        ) from None


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return f"file {hashlib.file_digest(stream, 'sha256').hexdigest()}"


def _shown(data: Any) -> str:
    return str(data) if isinstance(data, str | Path) else "The data frame"


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra.named("statistics", "Computing statistics on files") from None
    return duckdb
