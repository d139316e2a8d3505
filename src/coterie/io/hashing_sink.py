"""A file that hashes what is written to it, beside the writer: encoding, hashing and the disk work at the same time."""

from __future__ import annotations

import hashlib
import os
from queue import Queue
from threading import Thread
from types import TracebackType
from typing import Any, Protocol

_BLOCK = 1 << 20  # small writes wait for company
_WAITING = 4  # blocks that may wait for the disk


_PUSHED = 32 << 20  # bytes after which the system is asked to begin writing to the disk


class _File(Protocol):
    def write(self, data: Any, /) -> int | None: ...
    def fileno(self) -> int: ...


class HashingSink:
    """What Arrow and the csv writer need of a file. A fault of the disk is raised by the next write, or by `finish`."""

    closed = False

    def __init__(self, file: _File) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0
        self._small = bytearray()
        self._fault: BaseException | None = None
        self._blocks: Queue[Any] = Queue(_WAITING)
        self._thread = Thread(target=self._drain, daemon=True)

    def __enter__(self) -> HashingSink:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._size += size
        if len(self._small) + size < _BLOCK:
            self._small += data
            return size
        self._pass_on()
        if size < _BLOCK:
            self._small += data
        else:
            self._put(data)  # Arrow does not touch a buffer that it has handed over
        return size

    def finish(self) -> int:
        """Everything written; how many bytes that was."""
        self._pass_on()
        self._stop()
        if self._fault is not None:
            raise self._fault
        return self._size

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing can be read back before `finish`."""

    def close(self) -> None:
        """Arrow closes its sink; the file is closed by the one who opened it."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def _pass_on(self) -> None:
        if self._small:
            self._put(self._small)
            self._small = bytearray()

    def _put(self, block: Any) -> None:
        if self._fault is not None:
            raise self._fault
        self._blocks.put(block)

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._blocks.put(None)
            self._thread.join()

    def _drain(self) -> None:
        """After a fault, blocks are taken and dropped, so that the writer is never left waiting."""
        written = pushed = 0
        while (block := self._blocks.get()) is not None:
            if self._fault is None:
                try:
                    self._digest.update(block)
                    whole = memoryview(block).cast("B")
                    _write_all(self._file, whole)
                    written += len(whole)
                    if written - pushed >= _PUSHED:
                        _push(self._file, pushed, written)
                        pushed = written
                except BaseException as fault:  # raised again where the writer can see it
                    self._fault = fault


def _write_all(file: _File, block: memoryview) -> None:
    """An unbuffered file may take less than it is given."""
    while block:
        block = block[file.write(block) or 0 :]


def _push(file: _File, start: int, end: int) -> None:
    """Let the disk begin, so that the last fsync finds little left to do. Faults are still told by that fsync alone."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), start, end - start, os.POSIX_FADV_DONTNEED)
