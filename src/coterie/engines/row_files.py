"""Released values back in record order: (record number, value) goes to the file of its range of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.engines.scratch import Scratch
from coterie.errors import OutputError


@dataclass(frozen=True, slots=True)
class RowFiles:
    """One attribute's released numbers or codes, in ranges of `length` rows."""

    scratch: Scratch
    name: str
    records: int
    length: int
    kind: str  # "<f8" or "<i4"

    def attach(self, rows: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Rows are rising, so each range is a slice."""
        entries = np.empty(len(rows), dtype=self._entry)
        entries["place"] = rows % self.length
        entries["value"] = values
        ends = np.searchsorted(rows, np.arange(self.ranges + 1) * self.length)
        for number in np.flatnonzero(np.diff(ends)):
            self.scratch.append(self._file(int(number)), entries[ends[number] : ends[number + 1]])

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
