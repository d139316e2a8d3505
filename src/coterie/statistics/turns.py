"""One at a time: two processes asked for the same release must not both pay for it.

Looking for a stored release, drawing the noise and charging (or storing) are one step for everybody else. The
lock is a file beside the ledger or in the store, one for each release; the kernel drops it with its holder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.errors import LedgerError
from coterie.io.hold import names


@contextmanager
def my_turn(ledger: Path, population: str, method: str) -> Iterator[None]:
    """Wait until no other process is making this release, then hold it off until we are done."""
    resolved = ledger.resolve()  # one name for one file, so that all processes use the same lock
    label = hashlib.sha256(f"{population}\n{method}".encode()).hexdigest()[:16]
    path = resolved.with_name(f".{resolved.name}.statistics-{label}.lock")
    descriptor = _locked(path)
    try:
        yield
    finally:
        # Removed while still held: whoever waits on this file sees that its name is gone and takes a new one.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise LedgerError(
                f"A lock file in {path.parent} cannot be opened ({error.strerror}).",
                "Give yourself write permission on that folder.",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if names(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
