"""From filters to budget rows (what one record can touch), the splits that they allow, and the best of those.

Add/remove: a record satisfies some set of filters; the measurements of that set are the ones it touches.
Replace-one: a record goes from one set to another; a measurement in both is touched by a change of value, a
measurement in one of them by leaving or entering. Each possible move is one row Σ share·budget ≤ total,
share = (Δ of that move)/(Δ the budget pays for), squared for Gaussian noise, because ε adds up in Δ/b and ρ
in Δ²/(2σ²). Exchange: both; a record that is not there is one more kind, in no set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats
from coterie.schema.exact import as_text, number
from coterie.statistics.prediction.measurement import SensitivityBound
from coterie.statistics.specification.cells import reachable
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.specification import Neighbours

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
    places = [place[f] for f in filters]
    member = np.array([[bool(kind >> at & 1) for at in places] for kind in kinds])
    nominal = np.array([b.nominal(neighbours, f.everyone) for b, f in zip(bounds, filters, strict=True)])
    enter = np.array([bound.enter for bound in bounds])
    swap = np.array([bound.swap for bound in bounds])
    enter, swap = enter / nominal, swap / nominal
    power = 2 if zcdp else 1
    enter, swap = enter**power, swap**power
    if neighbours is Neighbours.ADD_REMOVE:
        return _maximal(member * enter)
    if len(member) <= MOST_PAIRED_KINDS:
        if neighbours is Neighbours.EXCHANGE:
            member = np.vstack([member, np.zeros_like(member[:1])])
        first, second = np.triu_indices(len(member))
        both = member[first] & member[second]
        one = member[first] ^ member[second]
        rows = both * swap + one * enter
    else:
        # The move A → B costs at most h(A) + h(B), h = Σ max(enter, swap/2): so h ≤ total/2 is enough.
        everywhere = member.all(axis=0)
        rows = np.where(everywhere, swap, 2.0 * np.maximum(enter, swap / 2.0) * member)
        if neighbours is Neighbours.EXCHANGE:
            rows = np.vstack([rows, member * enter])
    return _maximal(rows)


def _maximal(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave out the rows that another row implies."""
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
                f"The floors need a budget of {number(need, 6)}, but the total is {number(self.total, 6)}.",
                "Lower `floor`, raise the budget, or publish fewer statistics.",
            )

    @property
    def count(self) -> int:
        return int(self.rows.shape[1])

    def used(self, budgets: Floats) -> float:
        """The largest row: what the allocation costs."""
        return float((self.rows @ budgets).max())

    def fill(self, weights: Floats) -> Floats:
        """The allocation max(floor, τ·weight) with τ as large as the total allows.

        This is how every proportional rule meets a floor: the statistics below it are lifted, the others
        share what is left in their old proportion.
        """
        return raised(self.rows, self.total, self.floors, np.maximum(weights, 1e-300))

    def stretch(self, budgets: Floats) -> Floats:
        """Scale what lies above the floors until some row is used up."""
        above = np.maximum(budgets - self.floors, 0.0)
        spare = self.total - self.rows @ self.floors
        need = self.rows @ above
        touched = need > 0
        if not touched.any():
            return self.floors.copy()
        return np.asarray(self.floors + above * float((spare[touched] / need[touched]).min()))


def raised(rows: Floats, total: float, floors: Floats, weights: Floats) -> Floats:
    """max(floor, τ·weight) with the largest τ that keeps every row within the total (bisection)."""

    def fits(level: float) -> bool:
        return bool((rows @ np.maximum(floors, level * weights) <= total).all())

    low, high = 0.0, 2.0 * total / max(float((rows @ weights).max()), 1e-300)
    while fits(high) and high < 1e300:
        low, high = high, high * 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
        if high - low <= 1e-15 * high:
            break
    return np.maximum(floors, low * weights)


def as_floats(budgets: Iterable[Fraction]) -> Floats:
    return np.array([float(budget) for budget in budgets])


def exact_budgets(budgets: Floats, feasible: Feasible, total: Fraction) -> tuple[Fraction, ...]:
    """Decimal budgets that keep every row within the exact total; on one plain row they sum to it.

    Rounded down to about nine digits of the total; in plain sequential composition the crumbs go to the
    largest share, so that the parts are the whole.
    """
    grid = Fraction(10) ** (math.floor(math.log10(total)) - 9)
    parts = [Fraction(int(Fraction(float(budget)) / grid)) * grid for budget in budgets]
    parts = [max(part, decimal_of(floor)) for part, floor in zip(parts, feasible.floors, strict=True)]
    plain = len(feasible.rows) == 1 and bool((feasible.rows == 1.0).all())
    if plain:
        largest = max(range(len(parts)), key=lambda index: parts[index])
        parts[largest] += total - sum(parts, Fraction(0))
    return within_rows(parts, feasible.rows, total)


def within_rows(parts: list[Fraction], rows: NDArray[np.float64], total: Fraction) -> tuple[Fraction, ...]:
    """Exact budgets shrunk by the crumbs, all alike, by which rounding took a row past the total."""
    for row in rows[rows @ as_floats(parts) > float(total) * (1.0 - 1e-9)]:
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


def decimal_of(floor: float) -> Fraction:
    """The floor as the publisher wrote it, not its binary neighbour."""
    return Fraction(f"{floor:.12g}")


# Minimise a smooth function of the budgets over the allowed splits.
#
# Each step replaces the function by Σ c_i·budget_i^(−1/p), with c_i chosen so that value and slope agree at
# the current point, and solves that problem exactly: errors really do fall like that, so few steps are
# needed (convex linearisation, Fleury 1989). A line search between the two points keeps every step a
# descent; the region is convex, so everything between is allowed as well.

_DUAL_STEPS = 400
Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Optimum:
    budgets: Floats
    value: float


def minimise(
    objective: Objective,
    feasible: Feasible,
    powers: NDArray[np.float64],
    start: Floats | None = None,
    tolerance: float = 1e-8,
    steps: int = 200,
) -> Optimum:
    """The best split from a start (equal weights by default)."""
    budgets = feasible.fill(np.ones(feasible.count)) if start is None else feasible.stretch(start)
    value, slope = objective(budgets)
    quiet, reach = 0, 1.0
    for _ in range(steps):
        weights = np.maximum(-slope * powers * budgets ** (1.0 + 1.0 / powers), 0.0)
        weights = np.maximum(weights, 1e-12 * max(float(weights.max()), 1e-300))
        proposal = separable_optimum(weights, feasible, powers)
        direction = proposal - budgets
        descent = float(slope @ direction)
        if descent >= -tolerance * abs(value) * 1e-2:
            break
        # Where errors level off (clamps), full steps overshoot: remember how far the last one could go.
        length, accepted = min(1.0, 2.0 * reach), False
        while length > 1e-6:
            candidate = budgets + length * direction
            new_value, new_slope = objective(candidate)
            if new_value <= value + 1e-4 * length * descent:
                accepted = True
                break
            length *= 0.5
        if not accepted:
            break
        gain, reach = value - new_value, length
        budgets, value, slope = candidate, new_value, new_slope
        quiet = quiet + 1 if gain < tolerance * abs(value) else 0
        if quiet >= 3:
            break
    return Optimum(budgets, value)


def separable_optimum(weights: Floats, feasible: Feasible, powers: Floats) -> Floats:
    """argmin Σ w_i·e_i^(−1/p_i) over the allowed splits, by its dual.

    The Lagrangian gives e_i = max(floor, (w_i/(p_i·μ_i))^(p_i/(p_i+1))), μ = rowsᵀλ, λ ≥ 0. One row is a
    bisection on λ; several are found by raising the price of overused rows (as in iterative scaling).
    """
    exponent = powers / (powers + 1.0)
    base = (weights / powers) ** exponent
    if len(feasible.rows) == 1:  # all exponents are alike: Laplace noise, or Gaussian
        return feasible.fill(base * np.maximum(feasible.rows[0], 1e-300) ** -exponent)
    price = np.full(len(feasible.rows), 1.0)
    budgets = feasible.floors
    for _ in range(_DUAL_STEPS):
        per_unit = np.maximum(feasible.rows.T @ price, 1e-300)
        budgets = np.maximum(feasible.floors, base * per_unit**-exponent)
        use = feasible.rows @ budgets / feasible.total
        # A row used too much gets dearer, an unused one cheaper; at the fixed point the rows with a price
        # are exactly used up. Budgets fall like price^(−exponent), hence the power.
        if use.max() <= 1.0 + 1e-9 and float(price @ (1.0 - use)) <= 1e-8 * float(price.sum()):
            break
        price = price * np.minimum(np.maximum(use, 1e-3), 1e3) ** (1.0 / float(exponent.max()))
        price = np.maximum(price, 1e-30 * float(price.max()))
    return _use_slack(budgets, feasible)


def _use_slack(budgets: Floats, feasible: Feasible) -> Floats:
    """Raise each budget as far as its own rows allow: unused budget buys nothing."""
    result = feasible.stretch(budgets)
    slack = feasible.total - feasible.rows @ result
    for index in np.argsort(result):
        column = feasible.rows[:, index]
        touched = column > 0
        room = float((slack[touched] / column[touched]).min()) if touched.any() else 0.0
        if room > 1e-12 * feasible.total:
            result[index] += room
            slack = slack - column * room
    return result
