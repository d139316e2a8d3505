"""The owner's own memory: its decisions, and a diary whose lines are chained by hashes."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from coterie.federation.documents.canonical import canonical
from coterie.federation.documents.wire import now, stamp
from coterie.publication.ledger.book import seal
from coterie.table.hidden_files import ensure_private

GENESIS = hashlib.sha256(b"coterie owner's diary, version 1").hexdigest()
_TABLES = """
CREATE TABLE IF NOT EXISTS decisions (study TEXT PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen (study TEXT PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS diary (number INTEGER PRIMARY KEY, content TEXT NOT NULL, seal TEXT NOT NULL);
"""


class Journal:
    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            ensure_private(path)
        with self._open() as connection:
            connection.executescript(_TABLES)

    def decide(self, study: str, content: dict[str, Any]) -> None:
        """The owner's word on a study, for the running process to find."""
        text = canonical(content).decode()
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO decisions VALUES (?, ?)", (study, text))
            _note(connection, "decided", study=study, decision=str(content["decision"]))

    def decision(self, study: str) -> dict[str, Any] | None:
        return self._one("decisions", study)

    def see(self, study: str, content: dict[str, Any]) -> None:
        """Remember what the aggregator last said about a study, so that it can be looked at offline."""
        text = canonical(content).decode()
        if self._one("seen", study) == content:
            return
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO seen VALUES (?, ?)", (study, text))

    def seen(self) -> dict[str, dict[str, Any]]:
        with self._open() as connection:
            rows = connection.execute("SELECT study, content FROM seen ORDER BY rowid").fetchall()
        return {study: json.loads(content) for study, content in rows}

    def note(self, event: str, **content: Any) -> None:
        with self._writing() as connection:
            _note(connection, event, **content)

    def diary(self) -> list[dict[str, Any]]:
        with self._open() as connection:
            rows = connection.execute("SELECT number, content, seal FROM diary ORDER BY number").fetchall()
        return [{"number": number, "seal": mark, **json.loads(content)} for number, content, mark in rows]

    def first_broken(self) -> int | None:
        previous = GENESIS
        with self._open() as connection:
            rows = connection.execute("SELECT number, content, seal FROM diary ORDER BY number").fetchall()
        for expected, (number, content, mark) in enumerate(rows, start=1):
            if number != expected or seal(previous, content) != mark:
                return expected
            previous = mark
        return None

    def _one(self, table: str, study: str) -> dict[str, Any] | None:
        query = f"SELECT content FROM {table} WHERE study = ?"  # the table's name is ours
        with self._open() as connection:
            row = connection.execute(query, (study,)).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._open() as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A full disk in the words of files, whoever met it; what was begun is rolled back."""
        try:
            with closing(sqlite3.connect(self._path, timeout=30, isolation_level=None)) as connection:
                yield connection
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path)) from None
            raise


def _note(connection: sqlite3.Connection, event: str, **content: Any) -> None:
    last = connection.execute("SELECT number, seal FROM diary ORDER BY number DESC LIMIT 1").fetchone()
    number, previous = last or (0, GENESIS)
    text = canonical({"event": event, "at": stamp(now()), **content}).decode()
    connection.execute("INSERT INTO diary VALUES (?, ?, ?)", (number + 1, text, seal(previous, text)))
