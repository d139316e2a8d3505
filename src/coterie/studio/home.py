"""The studio's folder: what must survive a restart, readable by its owner only.

A token in an address is worth one visit: it names the running server (its boot) and a nonce, sealed with the session
secret of this folder, so that a second `coterie studio` of the same user can make one for the server that runs already.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path
from typing import Any

from coterie.errors import OutputError
from coterie.publication.staging import stage_bytes
from coterie.table.hidden_files import FileLock


def default_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "coterie" / "studio"


class Home:
    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / "projects").mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise OutputError(
                f"The studio's folder {folder} cannot be made ({error.strerror}).",
                "Choose another place with --home.",
            ) from None
        self.folder = folder.resolve()
        self._lock: FileLock | None = None

    @property
    def projects(self) -> Path:
        return self.folder / "projects"

    def take(self) -> bool:
        """Be the only server of this folder; False where another one runs."""
        self._lock = FileLock.take(self.folder / "lock", make=0o600)
        return self._lock is not None

    @property
    def session(self) -> str:
        """What the browser's cookie holds. It outlives the server, so that an open page goes on after a restart."""
        path = self.folder / "session"
        if not path.exists():
            _write(path, secrets.token_urlsafe(32))
        return path.read_text(encoding="utf-8")

    @property
    def running(self) -> dict[str, Any] | None:
        """Port and boot of the server that runs, or of the last one."""
        try:
            found = json.loads((self.folder / "running.json").read_text(encoding="utf-8"))
            return {"port": int(found["port"]), "boot": str(found["boot"])}
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def announce(self, port: int) -> str:
        boot = secrets.token_urlsafe(8)
        _write(self.folder / "running.json", json.dumps({"port": port, "boot": boot}))
        return boot

    def token(self, boot: str) -> str:
        nonce = secrets.token_urlsafe(16)
        return f"{nonce}.{self._seal(boot, nonce)}"

    def nonce_of(self, token: str, boot: str) -> str | None:
        """The nonce of a genuine token of this boot."""
        nonce, _, seal = token.partition(".")
        genuine = hmac.compare_digest(seal.encode(), self._seal(boot, nonce).encode())
        return nonce if genuine else None

    def seal_of(self, path: str) -> str:
        """Shows that a path to open came with a genuine token. SameSite cookies do not: a page of another server on this
        machine is of the same site."""
        return self._seal("open", path)

    def _seal(self, what: str, text: str) -> str:
        return hmac.new(self.session.encode(), f"{what} {text}".encode(), hashlib.sha256).hexdigest()


def _write(path: Path, text: str) -> None:
    stage_bytes(text.encode(), path, force=True, private=True).publish()
