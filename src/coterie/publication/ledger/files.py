"""The files of a ledger's releases: locks that tell who lives, and parts that are written but not yet visible."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple

from coterie.errors import LedgerError
from coterie.publication.staging import Staged
from coterie.table.address import without_credentials
from coterie.table.hidden_files import (
    FileLock,
    digest_or_none,
    make_durable,
    put_file,
    put_folder,
    remove_any,
)

# Is the process that reserved a release still alive? The kernel knows: it drops a lock with its holder.
#
# Safety never rests on the lock alone: each step also checks the state in the ledger, so a removed lock file can at worst
# cost a release its reservation, never publish an uncharged one. A lock file is removed when its release is in a final
# state: whoever still opens it then reads that state and leaves it alone.


def own(ledger: Path, release: str) -> FileLock | None:
    """The lock of a release, held for as long as it is under way; None while another process holds it."""
    try:
        return FileLock.take(_lock_path(ledger, release), make=0o666)
    except OSError as error:
        raise LedgerError(
            f"A lock file beside the ledger '{ledger}' cannot be opened ({error.strerror}).",
            "Give yourself write permission on the directory of the ledger.",
        ) from error


def new_file_mode(lock: FileLock) -> int:
    """The permissions of a new file of this process, read off the lock file: asking for the umask means setting it,
    for all threads at once."""
    return lock.mode & 0o666


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


# Files that are written but not yet visible: what the ledger notes of them, how they are put in place.


class Outcome(Enum):
    DONE = auto()
    GONE = auto()
    ELSEWHERE = auto()
    OCCUPIED = auto()


class StagedRecord(NamedTuple):
    """What the ledger keeps of a staged part: enough to publish a file after its writer has died.

    A tuple, because every opening makes one for each file that was ever released.
    """

    kind: str
    temporary: str
    target: str
    sha256: str
    mode: int
    replaces: str | None

    @classmethod
    def of(cls, staged: Staged, mode: int) -> StagedRecord:
        if not _is_file(staged.temporary):
            temporary, target = (without_credentials(str(name)) for name in (staged.temporary, staged.target))
            return cls("table", temporary, target, staged.sha256, 0, None)
        # Absolute: the process that recovers may stand in another directory.
        path, destination = Path(staged.temporary).absolute(), Path(staged.target).absolute()
        kind = "folder" if path.is_dir() else "file"
        for part in (*path.glob("*"), path, path.parent) if kind == "folder" else (path, path.parent):
            make_durable(part)
        if getattr(staged, "private", False):
            mode = 0o600  # internal figures, marked "do not publish"
        return cls(kind, str(path), str(destination), staged.sha256, mode, _signature(destination))

    def finish(self) -> Outcome:
        """Put a file or folder in place unless it is there already. Can be repeated after a kill at any point."""
        temporary, target = Path(self.temporary), Path(self.target)
        if not target.parent.is_dir():
            return Outcome.ELSEWHERE  # perhaps a disk that is not mounted now
        if _sha256(target) == self.sha256:
            remove_any(temporary)
            remove_any(temporary.with_suffix(".earlier"))
            return Outcome.DONE
        if _sha256(temporary) != self.sha256:
            return Outcome.GONE
        if _signature(target) not in (None, self.replaces):
            return Outcome.OCCUPIED  # written by someone else since: not ours to overwrite
        if self.kind == "folder":
            put_folder(temporary, target)
            make_durable(target.parent)
        else:
            os.chmod(temporary, self.mode)
            put_file(temporary, target)
        return Outcome.DONE


def _is_file(name: Path | str) -> bool:
    return isinstance(name, Path) or Path(name).is_absolute()


def _signature(path: Path) -> str | None:
    """Which file lies there now, at the price of one stat."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return f"{status.st_size}:{status.st_mtime_ns}"


def _sha256(path: Path) -> str | None:
    if path.is_dir():
        return digest_or_none(path)
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
