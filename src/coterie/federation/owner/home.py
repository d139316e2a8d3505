"""The owner's folder and journal: keys, the pinned aggregator, decisions, finished contributions, copies of releases."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from coterie.errors import reading
from coterie.federation.documents.messages import Invitation
from coterie.federation.documents.signed import Signed, canonical
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import moment, now, stamp
from coterie.federation.errors import Conflict, FederationError
from coterie.federation.secrets.keys import (
    SIGNING,
    Keys,
    current_keys,
    fingerprint,
    former_keys,
    keep_private,
    private_folder,
    write_private,
)
from coterie.publication.ledger import Ledger
from coterie.publication.ledger.seals import first_broken, seal
from coterie.table.hidden_files import FileLock, ensure_private

# The owner's journal: its decisions, and a diary whose lines are chained by hashes.

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
        """The owner's decision about a study, which the running process reads."""
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
        return [{"number": number, "seal": mark, **json.loads(text)} for number, text, mark in self._lines()]

    def seal_of(self, number: int | None = None) -> tuple[int, str] | None:
        """The number and seal of a line, or of the last one."""
        query = "SELECT number, seal FROM diary WHERE number = coalesce(?, (SELECT max(number) FROM diary))"
        with self._open() as connection:
            row = connection.execute(query, (number,)).fetchone()
        return None if row is None else (int(row[0]), str(row[1]))

    def noted(self, event: str, since: datetime | None = None) -> list[dict[str, Any]]:
        """The lines about one kind of event from a moment on; what counts against a limit is counted here."""
        # Canonical JSON: quotes inside a value are escaped, so nothing but the event's own name is matched.
        mark = f'%"event":{json.dumps(event)}%'
        with self._open() as connection:
            rows = connection.execute(
                "SELECT content FROM diary WHERE content LIKE ? ORDER BY number", (mark,)
            ).fetchall()
        found = [json.loads(text) for (text,) in rows]
        return [
            line
            for line in found
            if line["event"] == event and (since is None or moment(line["at"]) >= since)
        ]

    def _lines(self) -> list[tuple[int, str, str]]:
        with self._open() as connection:
            return connection.execute("SELECT number, content, seal FROM diary ORDER BY number").fetchall()

    def first_broken(self) -> int | None:
        return first_broken(self._lines(), GENESIS)

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
        """SQLite's errors about a full disk, as OSError. A transaction that was begun is rolled back."""
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


_SETTINGS, _SESSION, _LOCK, _STEP = "owner.json", "session", "agent.lock", "step.lock"
JOURNAL, LEDGER, _TLS_CLIENT, _TLS_NEXT = "journal.sqlite", "ledger.sqlite", "tls-client.pem", "tls-next.pem"
KEY = "part-key.json"  # in the folder of a study: what opens our part, once it may leave
_SESSIONS = 20
_STUDY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class OwnerHome:
    """An opened home. `study()` is the only way from a study's id to a path, and takes nothing but a hash."""

    folder: Path
    keys: Keys
    owner: str
    url: str
    aggregator: str
    tls: str
    journal: Journal
    keys_folder: Path | None = None  # of keys that have been replaced

    @property
    def signing_file(self) -> Path:
        return (self.keys_folder or self.folder) / SIGNING

    @property
    def aggregators(self) -> tuple[str, ...]:
        """The key of the aggregator that is pinned now, and those before it that it followed, latest first."""
        settings = json.loads((self.folder / _SETTINGS).read_bytes())
        return (settings["aggregator"], *settings.get("formerly", ()))

    def aggregator_of(self, signed: Signed) -> str:
        """The key that must have signed this: one that is or was the aggregator's, else the pinned one."""
        return signed.key if signed.key in self.aggregators else self.aggregator

    def predecessors(self, key: str) -> tuple[str, ...]:
        """This key of the aggregator and those before it: what was said of one of them holds for it."""
        known = self.aggregators
        return known[known.index(key) :] if key in known else ()

    def succeed(self, keys: Sequence[str]) -> None:
        """The pinned key has signed that another follows it; and so on, the last of them is in use."""
        path = self.folder / _SETTINGS
        settings = {**json.loads(path.read_bytes()), "aggregator": keys[-1]}
        settings["formerly"] = [*reversed(keys[:-1]), *self.aggregators]
        keep_private(path, json.dumps(settings, indent=2).encode())
        self.journal.note("aggregator has a new key", key=fingerprint(keys[-1]))

    def acting_in(self, study: Study) -> OwnerHome:
        """This home with the keys that the roster of the study names, if they are former ones of ours."""
        entry = study.entry(self.owner)
        if entry is not None and entry.key != self.keys.public:
            for place, keys in former_keys(self.folder):
                if keys.public == entry.key:
                    return replace(self, keys=keys, keys_folder=place)
        return self

    @property
    def tls_client(self) -> Path | None:
        """This owner's TLS certificate and key, if its aggregator demands one."""
        path = self.folder / _TLS_CLIENT
        return path if path.exists() else None

    def witness(self, number: int | None = None) -> str:
        """A line of our diary, or the last one, for the aggregator to remember; empty if there is none."""
        line = self.journal.seal_of(number)
        return self.keys.witness_mark(*line) if line else ""

    def trusted_tls(self) -> str:
        """The certificate that was pinned at joining, and the one that the aggregator announced since."""
        path = self.folder / _TLS_NEXT
        return self.tls + (path.read_text() if path.exists() else "")

    def learn_tls(self, certificate: str) -> bool:
        """Keep a certificate that the aggregator announced in a signed answer; False if it is known."""
        path = self.folder / _TLS_NEXT
        if certificate == self.tls or (path.exists() and path.read_text() == certificate):
            return False
        keep_private(path, certificate.encode())
        return True

    @property
    def policy_file(self) -> Path:
        return self.folder / "policy.yaml"

    @property
    def default_ledger(self) -> Path:
        return self.folder / LEDGER

    def ledger(self, named: str | None) -> Path:
        """The one that a policy or an approval names, else this folder's own."""
        return Path(named or self.default_ledger)

    def note_charged(self, study: str, ledger: Ledger) -> None:
        """Note the charge with the ledger's seal: by it we notice that the ledger was restored."""
        default = ledger.path.resolve() == self.default_ledger.resolve()
        self.journal.note("charged", study=study, ledger=ledger.book().seal, default=default)

    def study(self, study: str) -> Path:
        if not _STUDY.fullmatch(study):
            raise FederationError("This is not the id of a study.", "It has 64 hexadecimal digits.")
        folder = self.folder / "studies" / study
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def chunk(self, study: str, number: int) -> Path:
        return self.study(study) / f"chunk-{number:05d}.parquet"

    @classmethod
    def open(cls, folder: Path) -> OwnerHome:
        try:
            settings = json.loads((folder / _SETTINGS).read_bytes())
            owner, url, aggregator, pinned = (
                str(settings[name]) for name in ("owner", "url", "aggregator", "tls")
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise FederationError(
                f"{folder} is not the folder of an owner who has joined.",
                f"Join first: coterie owner join INVITATION --home {folder}",
            ) from None
        keys, journal = current_keys(folder), Journal(folder / JOURNAL)
        return cls(folder, keys, owner, url, aggregator, pinned, journal)

    @contextmanager
    def running(self) -> Iterator[tuple[str, str]]:
        """Be the one process that acts in this folder. Gives the session of this process and of those before it."""
        lock = FileLock.take(self.folder / _LOCK, make=0o600)
        if lock is None:
            raise Conflict(f"Another process runs in {self.folder}.", "One is enough: stop the other first.")
        with lock:
            path = self.folder / _SESSION
            # All since the last that the aggregator has answered: a process may be killed before it is heard.
            earlier = path.read_text().split()[:_SESSIONS] if path.exists() else []
            session = secrets.token_urlsafe(24)
            keep_private(path, "\n".join([session, *earlier]).encode())
            yield session, ",".join(earlier)

    def still(self) -> FileLock:
        """While this lock is held, nothing in this folder is half done."""
        return FileLock.waited(self.folder / _STEP)

    def acknowledged(self, session: str) -> None:
        """The aggregator answered this process: those before it need not be named again."""
        path = self.folder / _SESSION
        if path.exists() and path.read_text().split() != [session]:
            keep_private(path, session.encode())


def prepare(folder: Path) -> Keys:
    """Keys first, before the invitation is spent: a join that is cut off can be repeated with the same ones."""
    private_folder(folder, "Choose another place.")
    if (folder / _SETTINGS).exists():
        raise FederationError(
            f"{folder} has joined already.", "Choose another folder for another aggregator."
        )
    return Keys.made(folder)


def keep_tls_client(folder: Path, given: Path) -> Path:
    """A copy that only this owner can read, beside its other keys."""
    with reading(str(given), FederationError):
        content = given.read_bytes()
    path = folder / _TLS_CLIENT
    keep_private(path, content)
    return path


def settle(folder: Path, invitation: Invitation, owner: str) -> None:
    content = {
        "owner": owner,
        "url": invitation.url,
        "aggregator": invitation.aggregator,
        "tls": invitation.tls,
    }
    write_private(folder / _SETTINGS, json.dumps(content, indent=2).encode())
