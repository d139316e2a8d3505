"""Hidden files beside a target: private from the first byte, locked while their writer lives, removed when it is dead."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from coterie.errors import CertificateError, OutputError
from coterie.table.digest import folder_digest

# A file that only its owner may read, from its first byte.


def ensure_private(path: Path) -> None:
    """Make an empty file of mode 0600, for SQLite to fill: by itself it makes what the umask leaves, mostly 0644.

    Its journals take the mode of the file. One that exists keeps its mode: whoever shares it with a group, does so.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


# Does the writer of a hidden file still live? The kernel knows: it drops a lock (`flock`) with its holder, however it died.
#
# Process numbers are reused and mean nothing in another container. Where a file system has no such locks nothing can be
# taken, and so nothing is ever taken for abandoned.


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


# A folder of part files, written completely under a hidden name, then renamed.

PARTS = "parts"  # inside a hidden folder that no ledger knows
_EARLIER = ".earlier"
EARLIER = PARTS + _EARLIER


@dataclass(frozen=True)
class StagedFolder:
    """As StagedFile; `sha256` is the digest over all parts."""

    target: Path
    temporary: Path
    sha256: str
    size: int
    force: bool
    hold: Hold | None = field(
        default=None, repr=False, compare=False
    )  # of the hidden folder around `temporary`

    over = "part files"

    def publish(self) -> None:
        if not self.temporary.exists():
            if digest_or_none(self.target) != self.sha256:
                raise OutputError(
                    f"The staged folder for {self.target} is gone.",
                    "Something removed it; write the output again.",
                )
            return
        if os.path.lexists(self.target) and not self.force:
            raise OutputError(
                f"{self.target} exists already.", "Choose another name, or replace it with --force."
            )
        put_folder(self.temporary, self.target)
        if self.hold is not None:
            self.discard()

    def discard(self) -> None:
        if self.hold is None:
            remove_any(self.temporary)
        else:
            remove_any(self.temporary.parent)
            self.hold.let_go()


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


def new_file(target: Path) -> tuple[Path, int, Hold]:
    """An empty hidden file, mode 0600, its descriptor for writing, and the lock that says its writer lives."""
    while True:
        path = _hidden(target, _ALONE + secrets.token_hex(8))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        if _locked(path, descriptor):
            return path, descriptor, Hold(os.dup(descriptor))
        os.close(descriptor)


def new_folder(target: Path) -> tuple[Path, Hold]:
    while True:
        path = _hidden(target, _ALONE + secrets.token_hex(8))
        path.mkdir()
        with suppress(FileNotFoundError):  # swept before it was locked
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            if _locked(path, descriptor):
                return path, Hold(descriptor)
            os.close(descriptor)


def sweep(target: Path) -> None:
    """Remove what writers to this place left when they were killed; never what a living one still writes."""
    left = re.compile(re.escape(_hidden(target, _ALONE).name.removesuffix(".tmp")) + r"[0-9a-f]{16}\.tmp")
    with suppress(OSError):
        for path in [path for path in target.parent.iterdir() if left.fullmatch(path.name)]:
            hold = take(path)
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


def _locked(path: Path, descriptor: int) -> bool:
    """Lock what was just made. Another process may have found it unlocked meanwhile, and be removing it."""
    with suppress(OSError):  # no locks on this file system: then nobody can take it either
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return names(path, descriptor)
