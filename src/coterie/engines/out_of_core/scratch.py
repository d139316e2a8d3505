"""A folder for intermediate files: readable by its owner only, because they hold original values; one run at a time."""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import CoterieError, OutputError, ParameterError
from coterie.schema.arrays import Whole
from coterie.table.address import is_database
from coterie.table.hidden_files import FileLock, new_folder, sweep

FINISHED = "finished.json"  # which attributes are done
# What runs leave here, and what an earlier version did (finished.new).
_OURS = re.compile(
    r"(attribute-\d+-)?(column|bucket-\d+)|attribute-\d+-rows-\d+|finished\.(json|new)|\.finished\.json\.coterie-alone-[0-9a-f]{16}\.tmp"
)


@dataclass(frozen=True, slots=True)
class Scratch:
    folder: Path
    # Two runs in one folder would mix their records. The folder itself is locked: nothing is left behind by a kill.
    # None on a file system without locks.
    lock: FileLock | None = field(default=None, repr=False, compare=False)

    @classmethod
    def make(cls, folder: Path) -> Scratch:
        with told(folder):
            folder.mkdir(mode=0o700, parents=False, exist_ok=True)
            # What is found here is removed, now or at the end: it must be what an earlier run left.
            foreign = [path for path in folder.iterdir() if not _OURS.fullmatch(path.name)]
            if not foreign:
                folder.chmod(0o700)
                return cls(folder, _locked(folder))
        raise ParameterError(
            f"The folder {folder} holds other files.",
            "Intermediate files need a folder of their own, which is removed: name one that is new or empty.",
        )

    @classmethod
    def fresh(cls, parent: Path) -> Scratch:
        """A folder that no later run goes on with; what killed processes left there under such a name is removed."""
        target = parent / "protect"
        with told(target):
            sweep(target)
            folder, lock = new_folder(target)
            folder.chmod(0o700)
        return cls(folder, lock)

    def append(self, name: str, values: NDArray[Any]) -> None:
        with told(self.folder), open(self.folder / name, "ab") as file:
            file.write(np.ascontiguousarray(values).data.cast("B"))

    def read(self, name: str, dtype: np.dtype[Any], first: int = 0, count: int = -1) -> NDArray[Any]:
        """Read part of a file or all of it; nothing if there is no such file."""
        path = self.folder / name
        if not path.exists():
            return np.empty(0, dtype=dtype)
        with told(self.folder):
            return np.fromfile(path, dtype=dtype, count=count, offset=first * dtype.itemsize)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            (self.folder / name).unlink()

    def remove_all(self, start: str = "") -> None:
        for path in self.folder.glob(f"{start}*"):
            with suppress(FileNotFoundError):
                path.unlink()

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.let_go()

    def let_go(self) -> None:
        """The files stay, for the next run."""
        if self.lock is not None:
            self.lock.let_go()


def _locked(folder: Path) -> FileLock | None:
    try:
        lock = FileLock.take(folder.resolve())
    except OSError:
        return None
    if lock is None:
        raise OutputError(
            f"Another run keeps its intermediate files in {folder} now.",
            "Wait until it has ended; or choose another output, or another place with --scratch.",
        )
    return lock


@contextmanager
def scratch_beside(output: str, chosen: Path | None) -> Iterator[Scratch]:
    """A place for intermediate files: gone after success or an error, kept by an interrupted run for the next."""
    if is_database(output):
        raise ParameterError("A release larger than memory is written to a file.", "Name a .parquet file.")
    folder = _beside(output, chosen)
    if not folder.parent.is_dir():
        raise ParameterError(f"There is no folder {folder.parent}.", "Make it, or choose another place.")
    # Locked before anything else: an error of this run must not remove what another one works on.
    scratch = Scratch.make(folder)
    try:
        yield scratch
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(
            f"Stopped. What is done is kept in {folder}: the same command goes on from there. It may hold original "
            "values: remove it if you do not go on."
        )
        scratch.let_go()  # whoever caught the interrupt holds this frame, and may run the same request again
        raise
    except Exception:
        scratch.discard()
        raise
    scratch.discard()


def forget_scratch(output: str) -> None:
    """Once the release is written, remove the original values that a killed run with a memory limit kept to resume from."""
    folder = _beside(output, None)
    if "://" not in output and folder.is_dir():
        with suppress(CoterieError):  # another run works there, or somebody else's files lie there
            Scratch.make(folder).discard()


def _beside(output: str, chosen: Path | None) -> Path:
    target = Path(output).resolve()
    return (chosen or target.parent) / f".{target.name}.coterie-work"


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Report a full disk in plain words, whichever file it hit."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(
                f"The disk is full: there is no room for intermediate files in {folder.parent}.",
                "Free some space, or name another place with --scratch. Nothing was released or overwritten.",
            ) from None
        raise OutputError(
            f"Intermediate files cannot be kept in {folder.parent}.", "Name another place with --scratch."
        ) from None


# Released values back in record order: (record number, value) goes to the file of its range of rows.


@dataclass(frozen=True, slots=True)
class RowFiles:
    """One attribute's released numbers or codes, in ranges of `length` rows."""

    scratch: Scratch
    name: str
    records: int
    length: int
    kind: str  # "<f8" or "<i4"

    def attach(self, rows: Whole, values: NDArray[Any]) -> None:
        """Store values by row. Row numbers rise, so each range is a slice."""
        ends = np.searchsorted(rows, np.arange(self.ranges + 1) * self.length)
        for number in np.flatnonzero(np.diff(ends)).tolist():
            here = slice(ends[number], ends[number + 1])
            entries = np.empty(here.stop - here.start, dtype=self._entry)
            entries["place"] = rows[here] - number * self.length
            entries["value"] = values[here]
            self.scratch.append(self._file(number), entries)

    def read(self, number: int) -> NDArray[Any]:
        """Rows number·length … in record order."""
        entries = self.scratch.read(self._file(number), self._entry)
        if len(entries) != min(self.length, self.records - number * self.length):
            raise OutputError(
                f"Intermediate files in {self.scratch.folder} are incomplete.",
                "A machine that stopped may have lost them: run the command again, it starts anew.",
            )
        values = np.empty(len(entries), dtype=self.kind)
        values[entries["place"]] = entries["value"]
        return values

    @property
    def ranges(self) -> int:
        return -(-self.records // self.length)

    @property
    def _entry(self) -> np.dtype[Any]:
        return np.dtype([("place", "<u4"), ("value", self.kind)])

    def _file(self, number: int) -> str:
        return f"{self.name}-rows-{number}"


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Released values of one attribute held in memory, for tables that fit."""

    values: NDArray[Any]
    length: int

    def attach(self, rows: Whole, values: NDArray[Any]) -> None:
        self.values[rows] = values

    def read(self, number: int) -> NDArray[Any]:
        return self.values[number * self.length : (number + 1) * self.length]

    @property
    def ranges(self) -> int:
        return -(-len(self.values) // self.length)
