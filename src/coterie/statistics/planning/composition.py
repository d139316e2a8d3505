"""From filters to budget rows: what one record can touch, and so what the measurements cost together.

Add/remove: a record satisfies some set of filters; the measurements of that set are the ones it touches.
Replace-one: a record goes from one set to another; a measurement in both is touched by a change of value, a
measurement in one of them by leaving or entering. Each possible move is one row Σ share·budget ≤ total,
share = (Δ of that move)/(Δ the budget pays for), squared for Gaussian noise, because ε adds up in Δ/b and ρ
in Δ²/(2σ²)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats
from coterie.schema.exact import as_text
from coterie.statistics.prediction.measurement import Neighbours, SensitivityBound
from coterie.statistics.specification.filters import Filter, reachable

# Pairs of kinds are listed one by one up to here; beyond, a replacement is counted as remove + add.
MOST_PAIRED_KINDS = 64


def neighbour_rows(
    filters: Sequence[Filter],
    bounds: Sequence[SensitivityBound],
    neighbours: Neighbours,
    zcdp: bool,
    disjoint: Sequence[frozenset[Filter]] = (),
) -> NDArray[np.float64]:
    """Rows × measurements. `filters[i]` and `bounds[i]` belong to measurement i."""
    distinct = list(dict.fromkeys(filters))
    place = {chosen: index for index, chosen in enumerate(distinct)}
    declared = [frozenset(place[f] for f in group if f in place) for group in disjoint]
    kinds = reachable(distinct, declared)
    if kinds is None:
        return np.ones((1, len(filters)))
    member = np.array([[bool(kind >> place[f] & 1) for f in filters] for kind in kinds])
    nominal = np.array([b.nominal(neighbours, f.everyone) for b, f in zip(bounds, filters, strict=True)])
    enter = np.array([bound.enter for bound in bounds])
    swap = np.array([bound.swap for bound in bounds])
    enter, swap = enter / nominal, swap / nominal
    power = 2 if zcdp else 1
    enter, swap = enter**power, swap**power
    if neighbours is Neighbours.ADD_REMOVE:
        rows = member * enter
    elif len(member) <= MOST_PAIRED_KINDS:
        first, second = np.triu_indices(len(member))
        both = member[first] & member[second]
        one = member[first] ^ member[second]
        rows = both * swap + one * enter
    else:
        # The move A → B costs at most h(A) + h(B), h = Σ max(enter, swap/2): so h ≤ total/2 is enough.
        everywhere = member.all(axis=0)
        rows = np.where(everywhere, swap, 2.0 * np.maximum(enter, swap / 2.0) * member)
    return _maximal(rows)


def _maximal(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Without the rows that another row implies."""
    rows = np.unique(np.ceil(rows * 1e12 - 1e-3) / 1e12, axis=0)  # equal up to the last digits, and upwards
    if len(rows) > 1500:
        return rows
    order = np.argsort(-rows.sum(axis=1), kind="stable")
    kept = np.empty_like(rows)
    count = 0
    for row in rows[order]:
        if not (kept[:count] >= row).all(axis=1).any():
            kept[count] = row
            count += 1
    return kept[:count].copy()


# Which splits of the budget are allowed: Σ share(row, i)·budget_i ≤ total, for every row.
#
# One row with shares 1 is sequential composition (Nunes 2024, eq. 5.6). Statistics of disjoint groups cannot all be
# touched by one record, which gives one row for each kind of change a single record can make.


@dataclass(frozen=True)
class Feasible:
    """Budgets allowed: at least the floors, and within the total along each row."""

    rows: NDArray[np.float64]
    total: float
    floors: Floats

    @classmethod
    def sequential(cls, count: int, total: float, floor: float | Floats = 0.0) -> Feasible:
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

    def used(self, budgets: Floats) -> float:
        """The largest row: what the allocation costs."""
        return float((self.rows @ budgets).max())

    def fill(self, weights: Floats) -> Floats:
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

    def stretch(self, budgets: Floats) -> Floats:
        """Scale what lies above the floors until some row is used up."""
        above = np.maximum(budgets - self.floors, 0.0)
        spare = self.total - self.rows @ self.floors
        need = self.rows @ above
        touched = need > 0
        if not touched.any():
            return self.floors.copy()
        return np.asarray(self.floors + above * float((spare[touched] / need[touched]).min()))


def exact_budgets(budgets: Floats, feasible: Feasible, total: Fraction) -> tuple[Fraction, ...]:
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
