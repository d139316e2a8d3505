"""Cells that share their clusters: all methods of one k that group alike, every ε, every run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.compare.grid import Cell
from coterie.compare.groups import Groups
from coterie.compare.shares import Shares
from coterie.compare.sorted_table import SortedTable
from coterie.methods.recipe import Method
from coterie.utility.measure import Measure, Settings

Floats = NDArray[np.float64]
CORES = os.cpu_count() or 1
Step = Callable[[], None]
Task = Callable[[], Iterable[Step] | None]  # what it returns is to be done next, in any order


@dataclass(frozen=True)
class Section:
    """`found[measure]` is filled by tasks: a line an attribute, a number a (cell, run), NaN where there is none."""

    table: SortedTable
    groups: Groups
    k: int
    cells: Sequence[tuple[Cell, Method, Shares]]
    runs: int
    seed: int
    measures: Sequence[Measure]
    settings: Settings
    found: Mapping[str, Floats]

    def methods(self) -> dict[str, tuple[Method, list[int]]]:
        """The places of each method's cells."""
        found: dict[str, tuple[Method, list[int]]] = {}
        for place, (cell, method, _) in enumerate(self.cells):
            found.setdefault(cell.method, (method, []))[1].append(place)
        return found

    def rows(self, place: int) -> slice:
        """The rows of one cell: one a run."""
        return slice(place * self.runs, (place + 1) * self.runs)
