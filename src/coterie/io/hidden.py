"""Hidden names beside a target, and what dead processes left under them.

    .out.csv.coterie-0f….tmp          a ledger noted this name, and settles what becomes of it
    .out.csv.coterie-alone-0f….tmp    nobody but its writer knows of it; locked until it has its name

The second kind is removed by whoever next writes to the same place, once its writer is gone.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from coterie.io.hold import Hold, names, take
from coterie.io.staged_folder import EARLIER, remove_any

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
