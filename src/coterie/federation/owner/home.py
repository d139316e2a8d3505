"""The owner's folder: keys, the pinned aggregator, decisions, finished contributions, copies of releases."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from coterie.federation.documents.invitation import Invitation
from coterie.federation.errors import Conflict, FederationError
from coterie.federation.owner.journal import Journal
from coterie.federation.secrets.keys import SEALING, SIGNING, Keys, keep_private, write_private
from coterie.table.hidden_files import FileLock

_SETTINGS, _SESSION, _LOCK = "owner.json", "session", "agent.lock"
JOURNAL, _TLS_CLIENT = "journal.sqlite", "tls-client.pem"
_STUDY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Home:
    """An opened home. `study()` is the only way from a study's id to a path, and takes nothing but a hash."""

    folder: Path
    keys: Keys
    owner: str
    url: str
    aggregator: str
    tls: str
    journal: Journal

    @property
    def signing_file(self) -> Path:
        return self.folder / SIGNING

    @property
    def tls_client(self) -> Path | None:
        """This owner's TLS certificate and key, if its aggregator demands one."""
        path = self.folder / _TLS_CLIENT
        return path if path.exists() else None

    @property
    def policy_file(self) -> Path:
        return self.folder / "policy.yaml"

    @property
    def default_ledger(self) -> Path:
        return self.folder / "ledger.sqlite"

    def study(self, study: str) -> Path:
        if not _STUDY.fullmatch(study):
            raise FederationError("This is not the id of a study.", "It has 64 hexadecimal digits.")
        folder = self.folder / "studies" / study
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @classmethod
    def open(cls, folder: Path) -> Home:
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
        keys, journal = Keys.load(folder), Journal(folder / JOURNAL)
        return cls(folder, keys, owner, url, aggregator, pinned, journal)

    @contextmanager
    def running(self) -> Iterator[tuple[str, str]]:
        """Be the one process that acts here: gives the name of this process and of the one before it."""
        lock = FileLock.take(self.folder / _LOCK, make=0o600)
        if lock is None:
            raise Conflict(f"Another process runs in {self.folder}.", "One is enough: stop the other first.")
        with lock:
            path = self.folder / _SESSION
            previous = path.read_text().strip() if path.exists() else ""
            session = secrets.token_urlsafe(24)
            keep_private(path, session.encode())
            yield session, previous


def prepare(folder: Path) -> Keys:
    """Keys first, before the invitation is spent: a join that is cut off can be repeated with the same ones."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chmod(folder, 0o700)
    except OSError as error:
        raise FederationError(
            f"{folder} cannot be made ({error.strerror}).", "Choose another place."
        ) from None
    if (folder / _SETTINGS).exists():
        raise FederationError(
            f"{folder} has joined already.", "Choose another folder for another aggregator."
        )
    if not all((folder / name).exists() for name in (SIGNING, SEALING)):
        # Half a pair was never used: the disk was full, or the process was killed in between.
        for name in (SIGNING, SEALING):
            (folder / name).unlink(missing_ok=True)
        Keys.generate().save(folder)
    return Keys.load(folder)


def keep_tls_client(folder: Path, given: Path) -> Path:
    """A copy that only this owner can read, beside its other keys."""
    try:
        content = given.read_bytes()
    except OSError as error:
        raise FederationError(f"{given} cannot be read ({error.strerror}).", "Check the path.") from None
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
