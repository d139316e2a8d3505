"""A folder for intermediate files: readable by its owner only, because they hold original values."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import OutputError


@dataclass(frozen=True, slots=True)
class Scratch:
    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Scratch:
        with told(folder):
            folder.mkdir(mode=0o700, parents=False, exist_ok=True)
            folder.chmod(0o700)
        return cls(folder)

    def append(self, name: str, values: NDArray[Any]) -> None:
        with told(self.folder), open(self.folder / name, "ab") as file:
            file.write(np.ascontiguousarray(values).data.cast("B"))

    def read(self, name: str, dtype: np.dtype[Any], first: int = 0, count: int = -1) -> NDArray[Any]:
        """Part of a file, all of it, or nothing where there is none."""
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


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """A full disk in words, whichever file it hit."""
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
