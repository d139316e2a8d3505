"""ε of every attribute in each cell, worked out once for all methods and k that split it alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.comparison.grid import Cell
from coterie.comparison.groups import Groups
from coterie.comparison.sorted_table import SortedTable
from coterie.evaluation.measure import Measure, Settings
from coterie.methods.recipe import Method
from coterie.schema.exact import split


@dataclass(frozen=True)
class Shares:
    """ε of every attribute, exactly and as the nearest doubles."""

    exact: Mapping[str, Fraction]

    @cached_property
    def doubles(self) -> dict[str, float]:
        return {name: float(share) for name, share in self.exact.items()}


@dataclass(frozen=True)
class ShareOut:
    """As `release.shares_of` for the attributes; the rest of ε goes to the dependence between them."""

    weights: Mapping[str, Fraction]
    _known: dict[tuple[int, int, bool], Shares] = field(default_factory=dict)

    def __call__(self, epsilon: Fraction, method: Method) -> Shares:
        """The same object for methods that share ε out alike."""
        total = epsilon - method.dependence(epsilon, len(self.weights)) if method.synthesis else epsilon
        key = (*total.as_integer_ratio(), method.splits_budget)  # hashing a fraction takes a modular power
        if key not in self._known:
            whole = (
                split(total, self.weights) if method.splits_budget else dict.fromkeys(self.weights, epsilon)
            )
            self._known[key] = Shares(whole)
        return self._known[key]


# Cells that share their clusters: all methods of one k that group alike, every ε, every run.

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
