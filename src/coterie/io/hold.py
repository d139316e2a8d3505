"""Does the writer of a hidden file still live? The kernel knows: it drops a lock (`flock`) with its holder, however it died.

Process numbers are reused and mean nothing in another container. Where a file system has no such locks nothing can be
taken, and so nothing is ever taken for abandoned.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class Hold:
    """A lock that lasts until it is let go, or its process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        self.let_go()


def take(path: Path) -> Hold | None:
    """The lock of a file or folder; None where it is held, gone, or its file system knows no locks."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    hold = Hold(descriptor)
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if names(path, descriptor):
            return hold
    hold.let_go()
    return None


def names(path: Path, descriptor: int) -> bool:
    """Is this still the file of that name? Whoever waited for a lock may hold a file that is gone."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
