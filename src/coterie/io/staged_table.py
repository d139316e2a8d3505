"""One table of a database, filled completely under another name, then renamed in one transaction.

The digest is `table_digest` of what the database holds: reading the table back gives the same one.
SQLite has neither decimals, truth values nor dates: they are stored as REAL, 0/1 and ISO text, NaN as NULL.
With `force` the old table is dropped in the transaction that renames the new one; its grants and indexes go with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from coterie.errors import OutputError
from coterie.io.address import Address, TableName, quoted
from coterie.io.database import connected, driver_faults, execute, sqlstate, table_names
from coterie.io.digest import table_digest
from coterie.io.stored_types import prepared

_TAKEN = "42P07"
_DEPENDED_ON = "2BP01"
_NOT_A_TABLE = "42809"


@dataclass(frozen=True)
class StagedTable:
    """A complete table under a temporary name. `target` and `temporary` hold no credentials and may be shown."""

    target: str
    temporary: str
    sha256: str
    size: int  # bytes of the table in memory
    force: bool
    address: Address = field(repr=False)
    name: TableName
    staged_name: TableName

    def publish(self) -> None:
        """Rename within one transaction. Without `force`, a table that appeared meanwhile is kept."""
        with connected(self.address, OutputError) as connection, _told(self.address, self.name):
            present = table_names(connection, self.address.kind)
            if not _among(self.staged_name, present):
                raise OutputError(
                    f"The staged table for '{self.name}' is gone or was published already.",
                    "Read the table to see; otherwise write the output again.",
                )
            if self.force:
                execute(connection, f"DROP TABLE IF EXISTS {self.name.sql}")
            execute(connection, f"ALTER TABLE {self.staged_name.sql} RENAME TO {quoted(self.name.name)}")
            connection.commit()

    def discard(self) -> None:
        with connected(self.address, OutputError) as connection, _told(self.address, self.name):
            execute(connection, f"DROP TABLE IF EXISTS {self.staged_name.sql}")
            connection.commit()


def stage_table(table: pa.Table, address: Address, name: TableName, *, force: bool) -> StagedTable:
    if address.path is not None and not address.path.parent.is_dir():
        raise OutputError(f"There is no folder {address.path.parent}.", "Make it, or choose another place.")
    stored, declarations = prepared(table, address.kind)
    columns = ", ".join(
        f"{quoted(column)} {kind}" for column, kind in zip(table.column_names, declarations, strict=True)
    )
    staged_name = name.beside(f"__coterie_{secrets.token_hex(6)}")
    with connected(address, OutputError) as connection, _told(address, name):
        if not force and _among(name, table_names(connection, address.kind)):
            raise _exists(address, name)
        execute(connection, f"CREATE TABLE {staged_name.sql} ({columns})")
        with connection.cursor() as cursor:
            schema = {"db_schema_name": name.schema} if name.schema else {}
            cursor.adbc_ingest(staged_name.name, stored, mode="append", **schema)
        connection.commit()
    return StagedTable(
        target=f"{address.shown} table '{name}'",
        temporary=f"{address.shown} table '{staged_name}'",
        sha256=table_digest(stored),
        size=stored.nbytes,
        force=force,
        address=address,
        name=name,
        staged_name=staged_name,
    )


def _among(name: TableName, present: list[str]) -> bool:
    return str(name) in present or name.name in present


def _exists(address: Address, name: TableName) -> OutputError:
    return OutputError(
        f"The database {address.shown} has a table '{name}' already.",
        "Choose another name, or replace it with --force (force=True).",
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
