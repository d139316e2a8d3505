"""Writing, all or nothing: a file or a table of a database is staged beside its target, then published in one step.

    staged = stage(table, "release.parquet", force=False)   # complete and on disk, under a hidden name
    staged.publish()                                        # one rename; or staged.discard()

A crash before `publish` leaves at most `.release.parquet.coterie-….tmp`; the target keeps its old bytes, and the next
release to the same place removes what was left (see coterie.table.hidden_files).
`publish` may be called again after a crash: what is already published stays so.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

import pyarrow as pa

from coterie.errors import OutputError, ParameterError
from coterie.publication.staged_files import StagedFile, stage_file
from coterie.schema.attributes import Schema
from coterie.table.address import Address, TableName, is_database, quoted, without_credentials
from coterie.table.database import connected, driver_faults, execute, exists, fetch, prepared, rows, sqlstate
from coterie.table.digest import file_sha256, table_digest
from coterie.table.hidden_files import digest_or_none, make_durable, put_file, put_folder, remove_any
from coterie.table.reading import STREAM_WRITERS, WRITERS, ending, ending_advice, ending_problem
from coterie.table.survey_writing import SURVEY_ENDINGS, require_writable, write_survey

# A file or URL; or (URL, table) for a table of a database; or (file, sheet).
Input = str | Path | tuple[str, str]


class Staged(Protocol):
    """A finished result that waits for its name. `sha256` is over what `over` says, in the words of a certificate.

    A file has absolute paths. A database table has descriptive text, for its address holds a password that must not
    enter the ledger; only the caller can publish it.
    """

    @property
    def target(self) -> Path | str: ...
    @property
    def temporary(self) -> Path | str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def over(self) -> str: ...
    def publish(self) -> None: ...
    def discard(self) -> None: ...


def stage(
    table: pa.Table | pa.RecordBatchReader,
    target: str | Path,
    *,
    force: bool,
    table_name: str | None = None,
    schema: Schema | None = None,
    inputs: Iterable[Input] = (),
    temporary: Path | None = None,
) -> Staged:
    """Write `table` beside `target`: a file by its ending, or the table `table_name` of a database by URL.

    A stream of record batches is written as it comes; it fits Parquet and Arrow files only. An SPSS or Stata file takes
    its labels and formats from `schema`.

    Nothing of `inputs` is ever overwritten, with `force` or without. A ledger that must
    know the hidden name before the file exists gives it: `temporary=temporary_for(target)`.
    """
    streamed = isinstance(table, pa.RecordBatchReader)
    if is_database(target):
        if streamed:
            raise OutputError("A release larger than memory is written to a file.", "Name a .parquet file.")
        return _stage_table(table, str(target), table_name, force, inputs)
    if table_name is not None:
        raise ParameterError(
            "A name of a table was given, but the output is a file.", "Leave it out, or give a database URL."
        )
    path = Path(target)
    writer = require_writer(path, streamed=streamed, schema=schema)
    refuse_overwriting(path, inputs)
    try:
        return stage_file(path, lambda sink: writer(table, sink), force=force, temporary=temporary)
    except pa.ArrowException:
        raise OutputError(
            f"{path} cannot be written: the format has no place for a type of this table.",
            "Write .parquet or .arrow, or drop columns that are no numbers, text, dates or truth values.",
        ) from None


def require_writer(
    path: Path, *, streamed: bool = False, schema: Schema | None = None
) -> Callable[[Any, BinaryIO], None]:
    """The writer for a file's ending, or a sentence about endings, or about names that the format has no place for."""
    if ending(path) not in WRITERS:
        raise OutputError(ending_problem(path), ending_advice(path, WRITERS))
    writers: Mapping[str, Callable[[Any, BinaryIO], None]] = STREAM_WRITERS if streamed else WRITERS
    writer = writers.get(ending(path))
    if writer is None:
        raise OutputError(
            f"A release larger than memory is not written as {ending(path)[1:].upper()}.",
            "Name a .parquet file.",
        )
    if schema is not None and ending(path) in SURVEY_ENDINGS:
        require_writable(ending(path), schema)
        return partial(write_survey, ending(path), schema=schema)
    return writer


def stage_bytes(
    data: bytes,
    target: str | Path,
    *,
    force: bool,
    private: bool = False,
    inputs: Iterable[Input] = (),
    temporary: Path | None = None,
) -> StagedFile:
    """Stage the bytes of a file; a `private` one stays readable by its owner only."""
    if is_database(target):
        raise OutputError("This result can only be written to a file.", "Give a path.")
    path = Path(target)
    refuse_overwriting(path, inputs)
    return stage_file(path, lambda sink: sink.write(data), force=force, private=private, temporary=temporary)


def table_bytes(table: pa.Table, path: Path) -> bytes:
    """A small table as the file of that name will hold it."""
    sink = BytesIO()
    require_writer(path)(table, sink)
    return sink.getvalue()


def refuse_overwriting(path: Path, inputs: Iterable[Input]) -> None:
    for source in inputs:
        if isinstance(source, tuple):
            source = source[0]
        if is_database(source):
            if not Address.knows(str(source)):
                continue  # an object store: no file of this machine
            address = Address.parse(str(source))
            if address.path is None:
                continue
            source = address.path
        if Path(source).resolve() == path.resolve() or (
            path.exists() and Path(source).exists() and path.samefile(source)
        ):
            raise OutputError(f"The output {path} would overwrite an input.", "Choose another name for it.")


# One table of a database, filled completely under another name, then renamed in one transaction.
#
# The digest is `table_digest` of what the database holds: reading the table back gives the same one.
# SQLite has neither decimals, truth values nor dates: they are stored as REAL, 0/1 and ISO text, NaN as NULL.
# With `force` the old table is dropped in the transaction that renames the new one; its grants go with it.

_MARK = " table '"
# SQLSTATE, or words of SQLite; our problem, our advice.
_FAULTS = (
    (
        "2BP01",
        None,
        "Other objects depend on the table '{0}'.",
        "Drop those views first, or choose another name.",
    ),
    ("42809", "use DROP VIEW", "'{0}' is a view, not a table.", "Choose another name."),
    ("42501", None, "This user may not write there.", "Ask the administrator, or choose another schema."),
    ("3F000", None, "There is no schema '{0.schema}'.", "Create it, or choose another."),
    ("53100", "disk is full", "The database's disk is full.", "Free some space. Nothing was written."),
    (None, "is locked", "The database {1} is locked.", "Wait until the other program is done."),
)


@dataclass(frozen=True)
class StagedTable:
    """A complete table under a temporary name. `target` and `temporary` hold no credentials."""

    sha256: str
    size: int  # bytes of the table in memory; 0 where it was staged by an earlier process
    force: bool
    address: Address = field(repr=False)
    name: TableName
    staged_name: TableName

    over = "canonical table"

    @property
    def target(self) -> str:
        return f"{self.address.shown}{_MARK}{self.name}'"

    @property
    def temporary(self) -> str:
        return f"{self.address.shown}{_MARK}{self.staged_name}'"

    def publish(self) -> None:
        """Rename within one transaction. Without `force`, a table that appeared meanwhile is kept."""
        with _connected(self.address, self.name) as connection:
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
        with _connected(self.address, self.name) as connection:
            execute(connection, f"DROP TABLE IF EXISTS {self.staged_name.sql}")
            connection.commit()


def _stage_table(
    table: pa.Table, url: str, table_name: str | None, force: bool, inputs: Iterable[Input]
) -> StagedTable:
    address = Address.parse(url)
    if not table_name:
        raise ParameterError("The output is a database, but no table was named.", "Name the table to write.")
    name = TableName.parse(table_name, address.kind)
    for source in inputs:
        if isinstance(source, tuple) and is_database(source[0]):
            other = Address.parse(source[0])
            if other.same_database(address) and TableName.parse(source[1], other.kind).may_be(name):
                raise OutputError("The output would overwrite the input table.", "Choose another table.")
    if address.path is not None and not address.path.parent.is_dir():
        raise OutputError(f"There is no folder {address.path.parent}.", "Make it, or choose another place.")
    stored, declarations = prepared(table, address.kind)
    digest = table_digest(stored)
    columns = ", ".join(
        f"{quoted(column)} {kind}" for column, kind in zip(table.column_names, declarations, strict=True)
    )
    with _connected(address, name) as connection:
        name = _placed(connection, address, name)
        staged_name = name.beside(f"__coterie_{secrets.token_hex(6)}")
        if not force and exists(connection, address.kind, name):
            raise _exists(address, name)
        execute(connection, f"CREATE TABLE {staged_name.sql} ({columns})")
        with connection.cursor() as cursor:
            schema = {"db_schema_name": name.schema} if name.schema else {}
            cursor.adbc_ingest(staged_name.name, stored, mode="append", **schema)
        connection.commit()
    return StagedTable(digest, stored.nbytes, force, address, name, staged_name)


def resume_table(url: str, table_name: str, *, temporary: str, sha256: str, force: bool) -> StagedTable:
    """A staged table again, from what a ledger noted of it (`Staged.temporary`) before its writer died."""
    address = Address.parse(url)
    name = TableName.parse(table_name, address.kind)
    shown, mark, staged = temporary.removesuffix("'").rpartition(_MARK)
    if not mark or shown != address.shown:
        raise OutputError(
            "That staged table belongs to another database.", "Give the address of the first attempt."
        )
    with _connected(address, name) as connection:
        name = _placed(connection, address, name)
    return StagedTable(sha256, 0, force, address, name, TableName.parse(staged, address.kind))


def _placed(connection: Any, address: Address, name: TableName) -> TableName:
    """The name with its schema written out: DROP would look along the whole search path, CREATE does not."""
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
def _connected(address: Address, name: TableName) -> Iterator[Any]:
    """A connection whose errors are said of the table that is written."""
    try:
        with connected(address, OutputError) as connection:
            yield connection
    except driver_faults(address) as error:
        code, text = sqlstate(error), str(error)
    else:
        return
    if code == "42P07" or "already another table" in text:
        raise _exists(address, name)
    for state, words, problem, advice in _FAULTS:
        if code == state or (words is not None and words in text):
            raise OutputError(problem.format(name, address.shown), advice)
    number = f" (SQLSTATE {code})" if code else ""
    raise OutputError(f"The table '{name}' cannot be written{number}.", "Check the database and its log.")


# Files that are written but not yet visible: what the ledger notes of them, how they are put in place.


Placed = Literal["done", "gone", "elsewhere", "occupied"]


class StagedRecord(NamedTuple):
    """What the ledger keeps of a staged part: enough to publish a file after its writer has died.

    A tuple, because every opening makes one for each file that was ever released.
    """

    kind: str
    temporary: str
    target: str
    sha256: str
    mode: int
    replaces: str | None

    @classmethod
    def of(cls, staged: Staged, mode: int) -> StagedRecord:
        if isinstance(staged.temporary, str) and not Path(staged.temporary).is_absolute():
            temporary, target = (without_credentials(str(name)) for name in (staged.temporary, staged.target))
            return cls("table", temporary, target, staged.sha256, 0, None)
        # Absolute: the process that recovers may stand in another directory.
        path, destination = Path(staged.temporary).absolute(), Path(staged.target).absolute()
        kind = "folder" if path.is_dir() else "file"
        for part in (*path.glob("*"), path, path.parent) if kind == "folder" else (path, path.parent):
            make_durable(part)
        if getattr(staged, "private", False):
            mode = 0o600  # internal figures, marked "do not publish"
        return cls(kind, str(path), str(destination), staged.sha256, mode, _signature(destination))

    def finish(self) -> Placed:
        """Put a file or folder in place unless it is there already. Can be repeated after a kill at any point."""
        temporary, target = Path(self.temporary), Path(self.target)
        if not target.parent.is_dir():
            return "elsewhere"  # perhaps a disk that is not mounted now
        if _sha256(target) == self.sha256:
            remove_any(temporary)
            remove_any(temporary.with_suffix(".earlier"))
            return "done"
        if _sha256(temporary) != self.sha256:
            return "gone"
        if _signature(target) not in (None, self.replaces):
            return "occupied"  # written by someone else since: not ours to overwrite
        if self.kind == "folder":
            put_folder(temporary, target)
            make_durable(target.parent)
        else:
            os.chmod(temporary, self.mode)
            put_file(temporary, target)
        return "done"


def _signature(path: Path) -> str | None:
    """Which file lies there now, at the price of one stat."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return f"{status.st_size}:{status.st_mtime_ns}"


def _sha256(path: Path) -> str | None:
    if path.is_dir():
        return digest_or_none(path)
    return file_sha256(path) if path.is_file() else None
