"""The seeded draws of many runs at once, behind the interface through which mechanisms ask for noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.grid import Grid
from coterie.chain.noise.seeded import unit_laplace
from coterie.comparison.sorted_table import SortedTable

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """A mechanism that asks for one draw a cluster gets a row of them for every run."""

    table: SortedTable
    seed: int
    runs: int
    name: str = "NumPy Philox, seeded, many runs"
    private: bool = False

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: Grid | None = None) -> Floats:
        unit = self.table.drawn(unit_laplace, (stream,), self.seed, self.runs, len(centres))[0]
        return np.asarray(centres + scales * unit, dtype=np.float64)

    def uniform_words(self, count: int, stream: str) -> NDArray[np.uint64]:
        raise TypeError("labels are drawn by coterie.comparison.labels")
