"""Files that are whole or not there at all: locked, written under a hidden name beside their target, then renamed.

A hidden file is private from the first byte, locked while its writer lives, and removed when the writer is dead.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from coterie.errors import CertificateError
from coterie.table.digest import folder_digest

# A lock on a file or folder that lasts until it is let go, or its process ends, however that comes about.
#
# The kernel knows who lives: it drops a lock (`flock`) with its holder. Process numbers are reused, and mean nothing
# in another container or on another machine. Why not the library `filelock`: docs/adr/0008-file-locks.md.


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

    def __exit__(self, *fault: object) -> None:
        self.let_go()

    def __del__(self) -> None:
        self.let_go()


# A file that only its owner may read, from its first byte.


def ensure_private(path: Path) -> None:
    """Make an empty file of mode 0600, for SQLite to fill: by itself it makes what the umask leaves, mostly 0644.

    Its journals take the mode of the file. One that exists keeps its mode: whoever shares it with a group, does so.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


# A folder of part files, written completely under a hidden name, then renamed.

PARTS = "parts"  # inside a hidden folder that no ledger knows
_EARLIER = ".earlier"
EARLIER = PARTS + _EARLIER


def put_folder(temporary: Path, target: Path) -> None:
    """The finished folder takes the name; what had it before goes only then. Can be repeated after a kill."""
    earlier = temporary.with_suffix(_EARLIER)
    if os.path.lexists(target):
        os.rename(target, earlier)
    os.rename(temporary, target)
    remove_any(earlier)


def digest_or_none(folder: Path) -> str | None:
    try:
        return folder_digest(folder)
    except CertificateError:
        return None


def remove_any(path: Path) -> None:
    """A file, a folder, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


# Hidden names beside a target, and what dead processes left under them.
#
#     .out.csv.coterie-0f….tmp          a ledger noted this name, and settles what becomes of it
#     .out.csv.coterie-alone-0f….tmp    nobody but its writer knows of it; locked until it has its name
#
# The second kind is removed by whoever next writes to the same place, once its writer is gone.

_ALONE = "alone-"


def temporary_for(target: str | Path) -> Path:
    """A fresh hidden name beside the target, for a ledger that notes it before the file exists."""
    return _hidden(Path(target).resolve(), secrets.token_hex(8))


def temporary_address(address: str) -> str:
    """The same for a folder at an address."""
    parent, _, name = address.rstrip("/").rpartition("/")
    return f"{parent}/.{name}.coterie-{secrets.token_hex(8)}.tmp"


def new_file(target: Path) -> tuple[Path, int, FileLock]:
    """An empty hidden file, mode 0600, its descriptor for writing, and the lock that says its writer lives."""
    while True:
        path = _hidden(target, _ALONE + secrets.token_hex(8))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        lock = FileLock.on_new(path, descriptor)
        if lock is not None:
            return path, descriptor, lock
        os.close(descriptor)


def new_folder(target: Path) -> tuple[Path, FileLock]:
    while True:
        path = _hidden(target, _ALONE + secrets.token_hex(8))
        path.mkdir()
        with suppress(FileNotFoundError):  # swept before it was locked
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            lock = FileLock.on_new(path, descriptor)
            os.close(descriptor)
            if lock is not None:
                return path, lock


def sweep(target: Path) -> None:
    """Remove what writers to this place left when they were killed; never what a living one still writes."""
    left = re.compile(re.escape(_hidden(target, _ALONE).name.removesuffix(".tmp")) + r"[0-9a-f]{16}\.tmp")
    with suppress(OSError):
        for path in [path for path in target.parent.iterdir() if left.fullmatch(path.name)]:
            try:
                hold = FileLock.take(path)
            except OSError:  # gone, or no locks on this file system: nothing is taken for abandoned
                continue
            if hold is None:
                continue
            # Killed between two renames, the earlier release lies in there and nowhere else.
            if os.path.lexists(target) or not (path / EARLIER).exists():
                with suppress(OSError):
                    remove_any(path)
            hold.let_go()


def _hidden(path: Path, mark: str) -> Path:
    stem = path.name.encode()[:100].decode(errors="ignore")  # names have at most 255 bytes
    return path.with_name(f".{stem}.coterie-{mark}.tmp")


def write_whole(path: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    """The file has this content, or what it had before. Its owner alone can read it. On any fault nothing is left."""
    sweep(path)
    temporary, descriptor, lock = new_file(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                content(file)
            file.flush()
            os.fsync(file.fileno())
        put_file(temporary, path)
    except BaseException:
        remove_any(temporary)
        raise
    finally:
        lock.let_go()


def put_file(temporary: Path, target: Path) -> None:
    """The finished file takes the name, and the disk knows it: a power cut must not leave an empty one."""
    os.replace(temporary, target)
    make_durable(target.parent)


def make_durable(path: Path) -> None:
    """Flush a file or a folder to the disk, not only to the kernel."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
