"""A lock on a file or folder that lasts until it is let go, or its process ends, however that comes about.

The kernel knows who lives: it drops a lock (`flock`) together with its holder. Process numbers are reused, and mean nothing
in another container or on another machine. Why not the library `filelock`: docs/adr/0008-file-locks.md.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType


class FileLock:
    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path, *, make: int | None = None, wait: bool = False) -> FileLock | None:
        """The lock, or None while another holds it (unless we wait) or, where nothing is made, the file is gone.

        `make` is the mode of the file if it has to be made. Without it the file itself, or the folder, is locked: it is
        opened for reading, so that nothing in it changes.
        """
        made = os.O_RDWR | os.O_CREAT
        found = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        while True:
            descriptor = os.open(path, (found if make is None else made) | os.O_CLOEXEC, make or 0)
            lock = cls(path, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                if lock.holds:
                    return lock
            except BlockingIOError:
                lock.let_go()
                return None
            except BaseException:
                lock.let_go()
                raise
            lock.let_go()  # removed by whoever held it
            if make is None:
                return None

    @classmethod
    def waited(cls, path: Path, *, make: int = 0o600) -> FileLock:
        """The lock, once nobody else holds it."""
        lock = cls.take(path, make=make, wait=True)
        assert lock is not None
        return lock

    @classmethod
    def on_new(cls, path: Path, descriptor: int) -> FileLock | None:
        """Lock what was just made. Another process may have found it unlocked meanwhile, and be removing it: None."""
        lock = cls(path, os.dup(descriptor))
        with suppress(OSError):  # no locks on this file system: then nobody can take it either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if lock.holds:
            return lock
        lock.let_go()
        return None

    @property
    def holds(self) -> bool:
        """Is this still the file of that name? Whoever waited for a lock may hold a file that is gone."""
        try:
            return self._descriptor is not None and os.path.samestat(
                os.stat(self.path), os.fstat(self._descriptor)
            )
        except FileNotFoundError:
            return False

    @property
    def mode(self) -> int:
        """The permissions of the lock's file."""
        assert self._descriptor is not None
        return os.fstat(self._descriptor).st_mode

    def let_go(self, *, remove: bool = False) -> None:
        """Free the lock; `remove` its file while it is still held, so that whoever waits on it sees that it is gone."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(descriptor)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.let_go()

    def __del__(self) -> None:
        self.let_go()
