"""The events in an SQLite file: one writer at a time, each commit on the disk before it returns.

Rollback journal, not WAL: WAL needs memory shared between processes, which network file systems do not give.
`synchronous=EXTRA`, not FULL: with a rollback journal FULL may lose the last commit at a power cut, because
removing the journal is the commit and FULL does not sync the directory. A lost commit would be a release
without a charge.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from coterie.errors import LedgerError, OutputError
from coterie.publication.ledger.account import digest_of
from coterie.publication.ledger.book import Book
from coterie.publication.ledger.seals import GENESIS, broken, canonical, decoded, seal, sealed
from coterie.publication.staged_files import stage_file
from coterie.schema import exact

APPLICATION_ID = 0x436F744C  # "CotL"
# 1: charges were an ε alone. 3: the ledger has a snapshot. Older ones are read as they are, and become 2 when they are next
# written, 3 with their first snapshot.
VERSIONS = (1, 2, 3)
_WRITTEN, _WITH_SNAPSHOT = 2, 3
_EVENTS_PER_SNAPSHOT = 2000  # about as many as can be read in the time that it takes to start
WAIT_SECONDS = 10.0

_TABLES = (
    """CREATE TABLE events (
        number INTEGER PRIMARY KEY,
        content TEXT NOT NULL,  -- canonical JSON
        seal TEXT NOT NULL      -- SHA-256 of the seal before and this content
    )""",
    # These triggers stop mistakes; tampering is shown by the chain.
    "CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are final'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are final'); END",
)
_SNAPSHOTS = """CREATE TABLE IF NOT EXISTS snapshots (
    number INTEGER PRIMARY KEY,  -- of the event that holds its digest
    content TEXT NOT NULL
)"""


class Storage:
    """An open ledger file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._known: Book | None = None  # what this connection has read and found sound, and ...
        self._version, self._times = 0, (0, 0)  # ... the signs that nobody else has touched the file since

    @classmethod
    def create(cls, path: Path) -> Storage:
        """Open a ledger, made first where there is no file (or an empty one): whole or not at all,
        and a new one is readable by its owner only; one that exists keeps its mode, whoever shares it."""
        _refuse_directory(path)
        if not path.parent.is_dir():
            raise LedgerError(f"The directory '{path.parent}' does not exist.", "Create it, then try again.")
        if not path.exists():
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
                cls(path, connection)._fill()
                content = connection.serialize()
            try:
                stage_file(path, lambda sink: sink.write(content), force=False, private=True).publish()
            except OutputError as error:
                if not path.exists():  # else another process has just made it
                    raise LedgerError(error.problem, error.advice) from None
        with _sqlite_errors(path), closing(_connect(path, "rw")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            blank = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0
            if blank and _pragma(connection, "application_id") == 0:
                cls(path, connection)._fill()
            connection.execute("COMMIT")
        return cls.open(path)

    def _fill(self) -> None:
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version = {_WRITTEN}")
        for statement in _TABLES:
            self._connection.execute(statement)
        self.append("ledger", ledger=uuid4().hex)

    @classmethod
    def open(cls, path: Path) -> Storage:
        """Open an existing ledger, or refuse what is not one."""
        _refuse_directory(path)
        if not path.exists():
            raise _missing(path)
        with _sqlite_errors(path):
            connection = _connect(path, "rw")
            try:
                _refuse_stranger(path, connection)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection)

    def require_writable(self) -> None:
        """Refuse early: on a file that may only be read, SQLite begins a transaction and fails at the insert."""
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise _read_only(self.path)

    def close(self) -> None:
        self._connection.close()

    def book(self) -> Book:
        """All that the ledger says, with every seal checked. It grows with later events: copy what is to stay.

        An event that this connection has checked is not checked again before the ledger is opened anew, unless
        another process changed the file. Any other connection that commits is counted by SQLite, and whoever
        writes past SQLite moves the time of the file: after either, all of it is read again.
        """
        with _sqlite_errors(self.path), self._one_view():
            version, times = _pragma(self._connection, "data_version"), _times(self.path)
            book, self._known = self._known, None  # known again once the rest is found sound, too
            if book is None or (version, times) != (self._version, self._times):
                self._connection.execute("PRAGMA shrink_memory")  # from the file, not from pages kept of it
                book = Book()
            first = book.events + 1 if book.events else -(2**63)  # at first also what nobody numbered so
            rows = self._connection.execute(
                "SELECT number, content, seal FROM events WHERE number >= ? ORDER BY number", (first,)
            )
            contents = sealed(rows, book.events, book.seal)
            if not book.events and (snapshot := self._snapshot()):
                number, content = snapshot
                earlier = list(islice(contents, number))
                if len(earlier) != number or not isinstance(content, str):
                    raise broken(min(len(earlier) + 1, number))
                book = Book.at_snapshot(earlier, content)
            book.enter(decoded(contents, book.events))
            self._known, self._version, self._times = book, version, times
        return book

    def _snapshot(self) -> tuple[int, str] | None:
        """The number of the event that sealed the last snapshot, and its content."""
        there = "SELECT count(*) FROM sqlite_schema WHERE name = 'snapshots'"
        if not self._connection.execute(there).fetchone()[0]:
            return None
        found: tuple[int, str] | None = self._connection.execute(
            "SELECT number, content FROM snapshots ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return found

    def keep_snapshot(self) -> None:
        """Now and then, while nothing is under way: the next opening need not read a long past again."""
        book = self.book()
        if book.events - book.snapshot_at < _EVENTS_PER_SNAPSHOT:
            return
        with self.transaction() as book:
            content = book.snapshot()
            if content is None:
                return
            self._connection.execute(f"PRAGMA user_version = {_WITH_SNAPSHOT}")
            self._connection.execute(_SNAPSHOTS)
            self.append("snapshot", digest=digest_of(content))
            self._connection.execute("DELETE FROM snapshots")
            self._connection.execute("INSERT INTO snapshots VALUES (?, ?)", (book.events + 1, content))

    @contextmanager
    def _one_view(self) -> Iterator[None]:
        """Nobody commits between two reads."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:  # some errors end it
                self._connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[Book]:
        """The only way to write. IMMEDIATE: what is read in it cannot change before it commits."""
        with _sqlite_errors(self.path):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self.book()
                self._connection.execute("COMMIT")
                # Not the version: it would hide a commit of another process just after ours.
                self._times = _times(self.path)
            except BaseException:
                self._known = None  # it may have events that are rolled back now
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                raise

    def append(self, event: str, **content: Any) -> None:
        """Add one event; call inside a transaction."""
        last = self._connection.execute(
            "SELECT number, seal FROM events ORDER BY number DESC LIMIT 1"
        ).fetchone()
        number, previous = last or (0, GENESIS)
        if _pragma(self._connection, "user_version") < _WRITTEN:
            # In the same transaction: no older Coterie may add up what it cannot read.
            self._connection.execute(f"PRAGMA user_version = {_WRITTEN}")
        text = canonical(
            {"event": event, "at": datetime.now(UTC).isoformat(timespec="milliseconds"), **content}
        )
        self._connection.execute(
            "INSERT INTO events VALUES (?, ?, ?)", (number + 1, text, seal(previous, text))
        )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}", uri=True, timeout=WAIT_SECONDS, isolation_level=None
    )
    connection.execute("PRAGMA synchronous = EXTRA")
    return connection


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _times(path: Path) -> tuple[int, int]:
    """When the file was last written: moved by everyone who writes it, through SQLite or not."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise _missing(path) from None  # a charge in a removed file would be lost
    return status.st_mtime_ns, status.st_ctime_ns


def _refuse_directory(path: Path) -> None:
    if path.is_dir():
        raise LedgerError(f"'{path}' is a directory, not a ledger.", "Name a file, such as ledger.sqlite.")


def _refuse_stranger(path: Path, connection: sqlite3.Connection) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise LedgerError(
            f"'{path}' is not a Coterie ledger.", "Name the file that `coterie ledger init` made."
        )
    version = _pragma(connection, "user_version")
    if version not in VERSIONS:
        raise LedgerError(
            f"The ledger '{path}' has version {version}; this Coterie reads version {VERSIONS[-1]}.",
            "Use the version of Coterie that wrote it, or a newer one.",
        )
    if _pragma(connection, "quick_check(1)") != "ok":
        raise _damaged(path)
    if _pragma(connection, "journal_mode") != "delete":
        connection.execute("PRAGMA journal_mode = DELETE")


def _missing(path: Path) -> LedgerError:
    return LedgerError(
        f"There is no ledger at '{path}'.",
        f"Make one: coterie ledger init {path} --population NAME --lifetime EPSILON (Ledger.add_population).",
    )


def _damaged(path: Path) -> LedgerError:
    return LedgerError(
        f"The ledger '{path}' is damaged.",
        "Nothing was charged or released. Restore it from a backup, and count the releases made since then "
        "before any of its populations is used again.",
    )


def _read_only(path: Path) -> LedgerError:
    return LedgerError(
        f"The ledger '{path}' cannot be opened for writing.",
        "Give yourself write permission on the file and its directory (a journal is written there).",
    )


@contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences for the steward."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a fault of ours, not of the file
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            problem = f"The ledger '{path}' is locked: another process kept it for {exact.number(WAIT_SECONDS)} seconds."
            advice = (
                "Nothing was charged. Wait for the other release, or see which process has the file open."
            )
        elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise _read_only(path) from error
        elif code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            problem = f"The ledger '{path}' could not be written: the disk is full or failing."
            advice = "Nothing new was charged. Make room, then run `coterie ledger check` on it."
        elif code == sqlite3.SQLITE_NOTADB:
            problem = f"'{path}' is not a Coterie ledger."
            advice = (
                "Name the file that `coterie ledger init` made; if it is that file, restore it from a backup."
            )
        else:
            raise _damaged(path) from error
        raise LedgerError(problem, advice) from error
