"""Which splits of the budget are allowed: Σ share(row, i)·budget_i ≤ total, for every row.

One row with shares 1 is sequential composition (002 eq. 5.6). Statistics of disjoint groups cannot all be
touched by one record, which gives one row for each kind of change a single record can make.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.budget import as_text
from coterie.errors import ParameterError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Feasible:
    """Budgets allowed: at least the floors, and within the total along each row."""

    rows: NDArray[np.float64]
    total: float
    floors: Array

    @classmethod
    def sequential(cls, count: int, total: float, floor: float | Array = 0.0) -> Feasible:
        floors = np.broadcast_to(np.asarray(floor, dtype=np.float64), (count,)).copy()
        return cls(np.ones((1, count)), float(total), floors)

    def __post_init__(self) -> None:
        need = float((self.rows @ self.floors).max())
        if need > self.total * (1 + 1e-12):
            raise ParameterError(
                f"The floors need a budget of {need:.6g}, but the total is {self.total:.6g}.",
                "Lower `floor`, raise the budget, or publish fewer statistics.",
            )

    @property
    def count(self) -> int:
        return int(self.rows.shape[1])

    def used(self, budgets: Array) -> float:
        """The largest row: what the allocation costs."""
        return float((self.rows @ budgets).max())

    def fill(self, weights: Array) -> Array:
        """The allocation max(floor, τ·weight) with τ as large as the total allows (bisection).

        This is how every proportional rule meets a floor: the statistics below it are lifted, the others
        share what is left in their old proportion.
        """
        weights = np.maximum(np.asarray(weights, dtype=np.float64), 1e-300)
        low, high = 0.0, self.total / float((self.rows @ weights).max()) * 2.0
        while self.used(np.maximum(self.floors, high * weights)) < self.total and high < 1e300:
            high *= 2.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            if self.used(np.maximum(self.floors, middle * weights)) <= self.total:
                low = middle
            else:
                high = middle
            if high - low <= 1e-15 * high:
                break
        return np.maximum(self.floors, low * weights)

    def stretch(self, budgets: Array) -> Array:
        """Scale what lies above the floors until some row is used up."""
        above = np.maximum(budgets - self.floors, 0.0)
        spare = self.total - self.rows @ self.floors
        need = self.rows @ above
        touched = need > 0
        if not touched.any():
            return self.floors.copy()
        return np.asarray(self.floors + above * float((spare[touched] / need[touched]).min()))


def exact_budgets(budgets: Array, feasible: Feasible, total: Fraction) -> tuple[Fraction, ...]:
    """Decimal budgets that keep every row within the exact total; on one plain row they sum to it.

    Rounded down to about nine digits of the total; in plain sequential composition the crumbs go to the
    largest share, so that the parts are the whole.
    """
    grid = Fraction(10) ** (math.floor(math.log10(total)) - 9)
    parts = [Fraction(int(Fraction(float(budget)) / grid)) * grid for budget in budgets]
    parts = [max(part, _decimal(floor)) for part, floor in zip(parts, feasible.floors, strict=True)]
    plain = len(feasible.rows) == 1 and bool((feasible.rows == 1.0).all())
    if plain:
        largest = max(range(len(parts)), key=lambda index: parts[index])
        parts[largest] += total - sum(parts, Fraction(0))
    return within_rows(parts, feasible.rows, total)


def within_rows(parts: list[Fraction], rows: NDArray[np.float64], total: Fraction) -> tuple[Fraction, ...]:
    """Exact budgets shrunk by the crumbs, all alike, by which rounding took a row past the total."""
    floats = np.array([float(part) for part in parts])
    for row in rows[rows @ floats > float(total) * (1.0 - 1e-9)]:
        cost = sum(
            (Fraction(float(share)) * part for share, part in zip(row, parts, strict=True)), Fraction(0)
        )
        if cost > total:
            parts = [part * total / cost for part in parts]
    if min(parts) <= 0:
        raise ParameterError(
            f"A statistic would get no budget at all out of {as_text(total)}.", "Set a `floor` above 0."
        )
    return tuple(parts)


def _decimal(floor: float) -> Fraction:
    """The floor as the publisher wrote it, not its binary neighbour."""
    return Fraction(f"{floor:.12g}")
