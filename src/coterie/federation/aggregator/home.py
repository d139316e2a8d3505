"""The aggregator's folder (keys, settings, chunks, releases), and what it says when it cannot do as asked."""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie.federation.aggregator.part_reader import PartReader
from coterie.federation.documents.messages import Succession
from coterie.federation.documents.signed import Signed, canonical
from coterie.federation.documents.study import StudyAttribute
from coterie.federation.documents.wire import now, stamp
from coterie.federation.errors import Conflict, FederationError
from coterie.federation.secrets import tls
from coterie.federation.secrets.keys import (
    Keys,
    current_keys,
    fingerprint,
    former_keys,
    keep_private,
    next_keys,
    private_folder,
    use_next_keys,
    write_private,
)
from coterie.federation.storage.database import Database
from coterie.federation.storage.parties import add_token
from coterie.table.hidden_files import FileLock

# What the aggregator answers when it does not do as asked: a status, a word for programs, a sentence for people.


class Fault(Exception):
    def __init__(self, status: int, error: str, problem: str, advice: str = "", **extra: Any) -> None:
        super().__init__(problem)
        self.status = status
        self.content: dict[str, Any] = {"error": error, "problem": problem, "advice": advice, **extra}


# Complaints of the aggregator about its machine: in the log once a minute, not at each of many attempts.
#
# A log that repeats itself twice a second would fill the very disk that it says is full.

_SECONDS = 60.0
log = logging.getLogger("coterie.aggregator")


@dataclass(frozen=True)
class Complaints:
    """What one aggregator complained about, and when."""

    _last: dict[str, float] = field(default_factory=dict)

    def say(self, text: str) -> None:
        moment = time.monotonic()
        if text not in self._last or moment - self._last[text] >= _SECONDS:
            self._last[text] = moment
            log.error(text)


def row_bytes(attributes: Iterable[StudyAttribute]) -> int:
    """At most, of one row of these on the disk, not packed."""
    return sum(8 + max((len(label.encode()) for label in a.labels or ()), default=0) for a in attributes)


def require_room(folder: Path, size: int) -> None:
    """One study must not fill the disk that all share: it may take half of what is free, and waits until then."""
    if size > shutil.disk_usage(folder).free // 2:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


NEXT_TLS, _SUCCESSIONS = "tls-next", "successions.json"
SETTINGS, DATABASE, _LOCK = "aggregator.json", "aggregator.sqlite", "serve.lock"


@dataclass(frozen=True)
class Aggregator:
    """An opened home. Paths below it are made from numbers and hashes of ours, never from what a peer says."""

    folder: Path
    keys: Keys
    url: str
    database: Database
    complaints: Complaints = field(default_factory=Complaints)
    reader: PartReader = field(default_factory=PartReader)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.keys.public)

    @property
    def successions(self) -> list[dict[str, Any]]:
        """Every change of this aggregator's key, each signed with the key before."""
        path = self.folder / _SUCCESSIONS
        return list(json.loads(path.read_bytes())) if path.exists() else []

    def keys_of(self, public: str) -> Keys:
        """The keys that a study names: it is finished by those under which it was begun."""
        if public == self.keys.public:
            return self.keys
        return next(keys for _, keys in former_keys(self.folder) if keys.public == public)

    def rotate_keys(self) -> Keys:
        """New keys from now on. Nothing may serve meanwhile: it would go on with the old ones."""
        new = next_keys(self.folder)
        said = Succession(old=self.keys.public, new=new.public, at=stamp(now()))
        signed = Signed.of(said, self.keys).content()
        kept = [entry for entry in self.successions if entry["document"]["old"] != self.keys.public]
        keep_private(self.folder / _SUCCESSIONS, canonical([*kept, signed]))
        return use_next_keys(self.folder, self.keys)

    @property
    def next_tls(self) -> str | None:
        """The certificate that will be used next, if one was announced."""
        path = self.folder / NEXT_TLS / tls.CERTIFICATE
        return path.read_text() if path.exists() else None

    @property
    def tls_certificate(self) -> str:
        return (self.folder / tls.CERTIFICATE).read_text()

    def chunk(self, study: str, owner: int, number: int) -> Path:
        return self.folder / "chunks" / study / str(owner) / f"{number:05d}.parquet"

    def quarantine(self, study: str, owner: int) -> Path:
        """Where a part lies that killed its reader, for a person to look at."""
        return self.folder / "quarantine" / study / str(owner)

    def release(self, study: str) -> Path:
        return self.folder / "releases" / f"{study}.parquet"

    def workspace(self, study: str) -> Path:
        return self.folder / "work" / study

    @classmethod
    def open(cls, folder: Path, database: str | None = None) -> Aggregator:
        try:
            settings = json.loads((folder / SETTINGS).read_bytes())
            url = settings["url"]
            # Beside the settings unless they say otherwise: a folder that was moved or copied must find its own.
            stored = settings["database"] or f"sqlite:///{(folder / DATABASE).resolve()}"
        except (OSError, ValueError, KeyError, TypeError):
            raise FederationError(
                f"{folder} is not the folder of an aggregator.",
                f"Make one: coterie aggregator init {folder} --url https://HOST:PORT",
            ) from None
        return cls(folder, current_keys(folder), url, Database.open(database or stored))

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Be the one process that serves this folder and this database."""
        advice = "One is enough: stop the other first. Commands beside a running `serve` are fine."
        lock = FileLock.take(self.folder / _LOCK, make=0o600)
        if lock is None:
            raise Conflict(f"Another process serves {self.folder}.", advice)
        with lock, self.database.alone() as alone:
            if not alone:
                raise Conflict(f"Another process serves the database {self.database.shown}.", advice)
            yield

    def close(self) -> None:
        self.reader.close()
        self.database.close()


def init(folder: Path, url: str, names: Sequence[str], database: str | None) -> tuple[Aggregator, str]:
    """A new aggregator, and the token that opens its status page. The token is shown once and stored as a hash."""
    with suppress(OSError):  # what is wrong with the folder is said when it is made
        if any(folder.iterdir()):
            raise FederationError(f"{folder} is not empty.", "Choose a new folder.")
    private_folder(folder, "Choose another place.")
    try:
        for part in ("chunks", "releases", "work"):
            private_folder(folder / part, "Choose another place.", new=True)
        return _made(folder, url, names, database)
    except BaseException:
        # Half an aggregator would stand in the way of the next attempt.
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


def _made(folder: Path, url: str, names: Sequence[str], database: str | None) -> tuple[Aggregator, str]:
    Keys.generate().save(folder)
    tls.make_certificate(folder, names)
    # 0600: the address of a database may hold a password.
    settings = {"url": url.rstrip("/"), "database": database}
    write_private(folder / SETTINGS, json.dumps(settings, indent=2).encode())
    aggregator = Aggregator.open(folder)
    token = secrets.token_urlsafe(32)
    with aggregator.database.writing() as connection:
        add_token(connection, token, "made at init")
    return aggregator, token
