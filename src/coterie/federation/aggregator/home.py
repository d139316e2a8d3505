"""The aggregator's folder: keys, TLS certificate, settings, received chunks, releases."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coterie.federation.aggregator.faults import Complaints
from coterie.federation.errors import FederationError
from coterie.federation.secrets import tls
from coterie.federation.secrets.keys import Keys, fingerprint, write_private
from coterie.federation.storage.database import Database
from coterie.federation.storage.parties import add_token

_SETTINGS, _DATABASE = "aggregator.json", "aggregator.sqlite"


@dataclass(frozen=True)
class Aggregator:
    """An opened home. Paths below it are made from numbers and hashes of ours, never from what a peer says."""

    folder: Path
    keys: Keys
    url: str
    database: Database
    complaints: Complaints = field(default_factory=Complaints)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.keys.public)

    @property
    def tls_certificate(self) -> str:
        return (self.folder / tls.CERTIFICATE).read_text()

    def chunk_folder(self, study: str, owner: int) -> Path:
        return self.folder / "chunks" / study / str(owner)

    def chunk(self, study: str, owner: int, number: int) -> Path:
        return self.chunk_folder(study, owner) / f"{number:05d}.parquet"

    def release(self, study: str) -> Path:
        return self.folder / "releases" / f"{study}.parquet"

    def workspace(self, study: str) -> Path:
        return self.folder / "work" / study

    @classmethod
    def open(cls, folder: Path, database: str | None = None) -> Aggregator:
        try:
            settings = json.loads((folder / _SETTINGS).read_bytes())
            url = settings["url"]
            # Beside the settings unless they say otherwise: a folder that was moved or copied must find its own.
            stored = settings["database"] or f"sqlite:///{(folder / _DATABASE).resolve()}"
        except (OSError, ValueError, KeyError, TypeError):
            raise FederationError(
                f"{folder} is not the folder of an aggregator.",
                f"Make one: coterie aggregator init {folder} --url https://HOST:PORT",
            ) from None
        return cls(folder, Keys.load(folder), url, Database.open(database or stored))

    def close(self) -> None:
        self.database.close()


def init(folder: Path, url: str, names: Sequence[str], database: str | None) -> tuple[Aggregator, str]:
    """A new aggregator, and the token that opens its status page. The token is shown once and stored as a hash."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FederationError(f"{folder} is not empty.", "Choose a new folder.")
        os.chmod(folder, 0o700)
        for part in ("chunks", "releases", "work"):
            (folder / part).mkdir(mode=0o700)
    except OSError as error:
        raise FederationError(
            f"{folder} cannot be made ({error.strerror}).", "Choose another place."
        ) from None
    try:
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
    settings = json.dumps({"url": url.rstrip("/"), "database": database}, indent=2)
    write_private(folder / _SETTINGS, settings.encode())
    aggregator = Aggregator.open(folder)
    token = secrets.token_urlsafe(32)
    with aggregator.database.writing() as connection:
        add_token(connection, token, "made at init")
    return aggregator, token
