"""One table of a database, filled completely under another name, then renamed in one transaction.

The digest is `table_digest` of what the database holds: reading the table back gives the same one.
SQLite has neither decimals, truth values nor dates: they are stored as REAL, 0/1 and ISO text, NaN as NULL.
With `force` the old table is dropped in the transaction that renames the new one; its grants go with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from coterie.errors import OutputError
from coterie.table.address import Address, TableName, quoted
from coterie.table.database import connected, driver_faults, execute, exists, fetch, prepared, rows, sqlstate
from coterie.table.digest import table_digest

_MARK = " table '"
_TAKEN = "42P07"
_DEPENDED_ON = "2BP01"
_NOT_A_TABLE = "42809"


@dataclass(frozen=True)
class StagedTable:
    """A complete table under a temporary name. `target` and `temporary` hold no credentials."""

    target: str
    temporary: str
    sha256: str
    size: int  # bytes of the table in memory; 0 where it was staged by an earlier process
    force: bool
    address: Address = field(repr=False)
    name: TableName
    staged_name: TableName

    over = "canonical table"

    def publish(self) -> None:
        """Rename within one transaction. Without `force`, a table that appeared meanwhile is kept."""
        with connected(self.address, OutputError) as connection, _told(self.address, self.name):
            if not exists(connection, self.address.kind, self.staged_name):
                self._expect_published(connection)
                return
            if self.force:
                execute(connection, f"DROP TABLE IF EXISTS {self.name.sql}")
            execute(connection, f"ALTER TABLE {self.staged_name.sql} RENAME TO {quoted(self.name.name)}")
            connection.commit()

    def _expect_published(self, connection: Any) -> None:
        if exists(connection, self.address.kind, self.name):
            published = fetch(connection, self.address, f"SELECT * FROM {self.name.sql}", self.name)
            if table_digest(published) == self.sha256:
                return
        raise OutputError(
            f"The staged table for '{self.name}' is gone.", "Something removed it; write the output again."
        )

    def discard(self) -> None:
        with connected(self.address, OutputError) as connection, _told(self.address, self.name):
            execute(connection, f"DROP TABLE IF EXISTS {self.staged_name.sql}")
            connection.commit()


def stage_table(table: pa.Table, address: Address, name: TableName, *, force: bool) -> StagedTable:
    if address.path is not None and not address.path.parent.is_dir():
        raise OutputError(f"There is no folder {address.path.parent}.", "Make it, or choose another place.")
    stored, declarations = prepared(table, address.kind)
    digest = table_digest(stored)
    columns = ", ".join(
        f"{quoted(column)} {kind}" for column, kind in zip(table.column_names, declarations, strict=True)
    )
    with connected(address, OutputError) as connection, _told(address, name):
        name = _placed(connection, address, name)
        staged_name = name.beside(f"__coterie_{secrets.token_hex(6)}")
        if not force and exists(connection, address.kind, name):
            raise _exists(address, name)
        execute(connection, f"CREATE TABLE {staged_name.sql} ({columns})")
        with connection.cursor() as cursor:
            schema = {"db_schema_name": name.schema} if name.schema else {}
            cursor.adbc_ingest(staged_name.name, stored, mode="append", **schema)
        connection.commit()
    return _named(address, name, staged_name, digest, stored.nbytes, force)


def staged_again(
    address: Address, name: TableName, temporary: str, sha256: str, *, force: bool
) -> StagedTable:
    shown, mark, staged = temporary.removesuffix("'").rpartition(_MARK)
    if not mark or shown != address.shown:
        raise OutputError(
            "That staged table belongs to another database.", "Give the address of the first attempt."
        )
    with connected(address, OutputError) as connection, _told(address, name):
        name = _placed(connection, address, name)
    return _named(address, name, TableName.parse(staged, address.kind), sha256, 0, force)


def _named(
    address: Address, name: TableName, staged_name: TableName, sha256: str, size: int, force: bool
) -> StagedTable:
    target, temporary = (f"{address.shown}{_MARK}{which}'" for which in (name, staged_name))
    return StagedTable(target, temporary, sha256, size, force, address, name, staged_name)


def _placed(connection: Any, address: Address, name: TableName) -> TableName:
    """With the schema written out: DROP would look along the whole search path, CREATE does not."""
    if address.kind == "sqlite" or name.schema:
        return name
    [(schema,)] = rows(connection, "SELECT current_schema()::text")
    return TableName(name.name, schema)


def _exists(address: Address, name: TableName) -> OutputError:
    return OutputError(
        f"The database {address.shown} has a table '{name}' already.",
        "Choose another name, or use --force (force=True).",
    )


@contextmanager
def _told(address: Address, name: TableName) -> Iterator[None]:
    try:
        yield
    except driver_faults(address) as error:
        code, text = sqlstate(error), str(error)
    else:
        return
    if code == _TAKEN or "already another table" in text:
        raise _exists(address, name)
    if code == _DEPENDED_ON:
        raise OutputError(
            f"Other objects depend on the table '{name}'.", "Drop those views first, or choose another name."
        )
    if code == _NOT_A_TABLE or "use DROP VIEW" in text:
        raise OutputError(f"'{name}' is a view, not a table.", "Choose another name.")
    if code == "42501":
        raise OutputError(
            "This user may not write there.", "Ask the administrator, or choose another schema."
        )
    if code == "3F000":
        raise OutputError(f"There is no schema '{name.schema}'.", "Create it, or choose another.")
    if code == "53100" or "disk is full" in text:
        raise OutputError("The database's disk is full.", "Free some space. Nothing was written.")
    if "is locked" in text:
        raise OutputError(f"The database {address.shown} is locked.", "Wait until the other program is done.")
    state = f" (SQLSTATE {code})" if code else ""
    raise OutputError(f"The table '{name}' cannot be written{state}.", "Check the database and its log.")
