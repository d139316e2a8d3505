"""Files and folders written completely under a hidden name, then renamed; hashed while they are written."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import RawIOBase
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, BinaryIO, Protocol, cast

from coterie.errors import OutputError
from coterie.table.digest import file_sha256
from coterie.table.hidden_files import (
    FileLock,
    digest_or_none,
    make_durable,
    new_file,
    put_folder,
    remove_any,
    sweep,
)

_BLOCK = 1 << 20  # smaller writes are collected first
_WAITING = 4  # blocks that may wait for the disk
_PUSHED = 32 << 20  # bytes after which the system is asked to begin writing to the disk


class _File(Protocol):
    def write(self, data: Any, /) -> int | None: ...
    def fileno(self) -> int: ...


class HashingSink(RawIOBase):
    """What Arrow and the csv writer write to. A fault of the disk is raised by the next write, or by `finish`.

    Nothing can be read back, and the file is closed by the one who opened it.
    """

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

    def __exit__(self, *fault: object) -> None:
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

    def writable(self) -> bool:
        return True

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
                    rest = memoryview(block).cast("B")
                    written += len(rest)
                    while rest:  # an unbuffered file may take less than it is given
                        rest = rest[self._file.write(rest) or 0 :]
                    if written - pushed >= _PUSHED and hasattr(os, "posix_fadvise"):
                        # Let the disk begin, so that the last fsync, which alone tells of faults, finds little to do.
                        size = written - pushed
                        os.posix_fadvise(self._file.fileno(), pushed, size, os.POSIX_FADV_DONTNEED)
                        pushed = written
                except BaseException as fault:  # raised again where the writer can see it
                    self._fault = fault


# One file, written completely under a hidden name, then renamed.

_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


@dataclass(frozen=True)
class StagedFile:
    """A complete file under a temporary name. Plain fields: a ledger can keep them for after a crash."""

    target: Path
    temporary: Path
    sha256: str
    size: int
    force: bool
    private: bool = False
    # Where no ledger knows the hidden name.
    hold: FileLock | None = field(default=None, repr=False, compare=False)

    over = "file bytes"

    def publish(self) -> None:
        """Give the file its name. Without `force`, a file that appeared meanwhile is never replaced."""
        with _disk_errors(self.target):
            if not os.path.lexists(self.temporary):
                self._expect_published()
                return
            if not self.private:
                os.chmod(self.temporary, 0o666 & ~_umask())
            if self.force:
                os.replace(self.temporary, self.target)
                self.discard()  # rename(2) leaves both names where they are one file already
            else:
                self._link()
            make_durable(self.target.parent)
        self._let_go()

    def discard(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.temporary)
        self._let_go()

    def _let_go(self) -> None:
        if self.hold is not None:
            self.hold.let_go()

    def _link(self) -> None:
        """A rename that never replaces: a link fails where the name is taken, even by a racing process."""
        try:
            os.link(self.temporary, self.target)
        except FileExistsError:
            # A crash between link and unlink leaves both names on one file: that one is published.
            if not os.path.samefile(self.temporary, self.target):
                raise exists_already(self.target) from None
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            # A file system without links: look, then rename. The moment between is the best it offers.
            if os.path.lexists(self.target):
                raise exists_already(self.target) from None
            os.replace(self.temporary, self.target)
            return
        os.unlink(self.temporary)

    def _expect_published(self) -> None:
        if not self.target.exists() or file_sha256(self.target) != self.sha256:
            raise OutputError(
                f"The staged file for {self.target} is gone.", "Something removed it; write the output again."
            )


# A folder of part files, in the same way.


@dataclass(frozen=True)
class StagedFolder:
    """As StagedFile; `sha256` is the digest over all parts."""

    target: Path
    temporary: Path
    sha256: str
    size: int
    force: bool
    # Of the hidden folder around `temporary`.
    hold: FileLock | None = field(default=None, repr=False, compare=False)

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
            raise exists_already(self.target)
        put_folder(self.temporary, self.target)
        if self.hold is not None:
            self.discard()

    def discard(self) -> None:
        if self.hold is None:
            remove_any(self.temporary)
        else:
            remove_any(self.temporary.parent)
            self.hold.let_go()


def stage_file(
    target: Path,
    write: Callable[[BinaryIO], object],
    *,
    force: bool,
    private: bool = False,
    temporary: Path | None = None,
) -> StagedFile:
    """Check the target, then let `write` fill a temporary file beside it; on any fault nothing is left."""
    with _disk_errors(target):
        # Through a symbolic link: the file it points to is replaced, and the link stays.
        path = target.resolve()
        _refuse(target, path, force)
        sweep(path)
        hold = None
        if temporary is None:
            temporary, descriptor, hold = new_file(path)
        else:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file, HashingSink(file) as sink:
                write(cast(BinaryIO, sink))
                size = sink.finish()
                os.fsync(file.fileno())
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            if hold is not None:
                hold.let_go()
            raise
    return StagedFile(path, temporary, sink.sha256, size, force, private, hold)


def _refuse(shown: Path, path: Path, force: bool) -> None:
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {shown.parent}.", "Make it, or choose another place.")
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise OutputError(f"{shown} is a folder.", "Name a file inside it.")
        if not stat.S_ISREG(mode):
            raise OutputError(f"{shown} is no ordinary file.", "Name a file that may be replaced as a whole.")
        if not force:
            raise exists_already(shown)


def exists_already(shown: object) -> OutputError:
    return OutputError(
        f"{shown} exists already.", "Choose another name, or replace it with --force (force=True)."
    )


@contextmanager
def _disk_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem, advice = "the disk is full", "Free some space, or choose another place."
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            problem = "the folder may not be written"
            advice = "Choose another place, or ask for the permission."
        else:
            reason = os.strerror(error.errno) if error.errno else "input/output error"
            problem, advice = reason, "Check the path and the disk."
        raise OutputError(
            f"{target} cannot be written: {problem}.", f"{advice} Nothing was written."
        ) from None


def _umask() -> int:
    """The mask of new files, read and not set: setting it, even for a moment, is seen by all threads."""
    with (
        suppress(OSError, ValueError),
        open("/proc/self/status", encoding="utf-8", errors="replace") as status,
    ):
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o077
