"""The seeded draws of many runs at once, behind the interface through which mechanisms ask for noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.noise.grid import Grid

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """A mechanism that asks for one draw a cluster gets a row of them for every run."""

    unit: Floats  # standard Laplace draws: a row a run, a column a cluster
    name: str = "NumPy Philox, seeded, many runs"
    private: bool = False

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: Grid | None = None) -> Floats:
        return np.asarray(centres + scales * self.unit, dtype=np.float64)

    def uniform_words(self, count: int, stream: str) -> NDArray[np.uint64]:
        raise TypeError("labels are drawn by coterie.compare.labels")
