"""Is the process that reserved a release still alive? The kernel knows: it drops a lock with its holder.

Process numbers are reused and mean nothing on another machine; `flock` on a file beside the ledger is
released on any death, kill -9 included. Safety never rests on it alone: each step also checks the state in
the ledger, so a removed lock file can at worst cost a release its reservation, never publish an uncharged
one.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Container
from pathlib import Path

from coterie.errors import LedgerError


class Lock:
    """Held for as long as a release is under way."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, ledger: Path, release: str) -> Lock | None:
        """The lock of a release, or None while another process holds it."""
        path = _lock_path(ledger, release)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise LedgerError(
                f"A lock file beside the ledger '{ledger}' cannot be opened ({error.strerror}).",
                "Give yourself write permission on the directory of the ledger.",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def new_file_mode(self) -> int:
        """The permissions of a new file of this process, read off the lock file: asking for the umask means
        setting it, for all threads at once."""
        assert self._descriptor is not None
        return os.fstat(self._descriptor).st_mode & 0o666

    def let_go(self, *, forget: bool) -> None:
        """Free the lock. `forget` also removes its file: only when the release is in a final state, so that
        whoever still waits on the removed file reads that state and leaves it alone."""
        if self._descriptor is None:
            return
        if forget:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None


def sweep(ledger: Path, under_way: Container[str]) -> None:
    """Remove lock files that belong to no release under way. Call inside a ledger transaction: reservations
    take their lock inside one too, so no lock of a reservation that is just being written can be swept."""
    # Exactly 32 hex digits: a ledger 'a' must not sweep the locks of a ledger 'a.b'.
    ours = re.compile(re.escape(f".{ledger.name}.") + r"([0-9a-f]{32})\.lock")
    for path in ledger.parent.iterdir():
        match = ours.fullmatch(path.name)
        if match and match[1] not in under_way:
            path.unlink(missing_ok=True)


def _lock_path(ledger: Path, release: str) -> Path:
    return ledger.parent / f".{ledger.name}.{release}.lock"
