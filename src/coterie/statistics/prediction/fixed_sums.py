"""The points nearest to given ones that keep what is fixed: sums over classes of cells, limits, whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats

_SWEEPS = 60
_ROUNDS = 400
_MET = 0.05  # of one record: how far sums may be off before counts are rounded
_MISSED = 20.0  # what a sum that is off by one costs, against a count that is
_HALVINGS = 60
_PRECISE = 1e-12
_MOST_EXACT = 50_000  # counts that are rounded by a program in whole numbers


CellClasses = NDArray[np.int64]


def connected(count: int, pairs: Iterable[tuple[int, int]] | NDArray[np.int64]) -> CellClasses:
    """Number the connected components of `count` nodes, in the order of their first members."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    one, other = np.array([*pairs, (0, 0)], dtype=np.int64).T
    graph = csr_array((np.ones(len(one)), (one, other)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def sums_of(cells: Floats, classes: CellClasses, count: int) -> Floats:
    """Draws × classes."""
    if len(cells) == 1:
        found = np.bincount(classes, weights=cells[0], minlength=count)
        return np.asarray(found[None, :], dtype=np.float64)
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(count))
    return np.asarray(np.add.reduceat(cells[:, order], starts, axis=1))


@dataclass(frozen=True, eq=False)
class FixedSums:
    """Classes of cells, and the sum of each. `at_most`: of classes in which other cells take what is left."""

    classes: NDArray[np.int64]
    sums: Floats
    at_most: NDArray[np.bool_] | None = None

    def only(self, seen: NDArray[np.bool_]) -> FixedSums:
        """Over those cells alone; where others are in a class, its sum is a limit."""
        if seen.all():
            return self
        slack = np.bincount(self.classes[~seen], minlength=len(self.sums)) > 0
        return FixedSums(self.classes[seen], self.sums, slack)

    def of(self, values: Floats) -> Floats:
        found = np.bincount(self.classes, weights=values, minlength=len(self.sums))
        return np.asarray(found, dtype=np.float64)

    def off(self, found: Floats) -> float:
        """How far the sums of classes that have cells are from what they should be, at most."""
        off = self.of(found) - self.sums
        if self.at_most is not None:
            off[self.at_most] = np.maximum(off[self.at_most], 0.0)
        return float(np.abs(off[self.of(np.ones_like(found)) > 0]).max(initial=0.0))

    def cuts(self, values: Floats, low: Floats | float, high: Floats | float) -> Floats:
        """What is taken from each cell of a class, so that what is left between the limits has its sum."""
        known = np.isfinite(self.sums)
        sums = np.where(known, self.sums, 0.0)
        found = np.where(known, _shift(values, low, high, sums, self.of, lambda c: c[self.classes]), 0.0)
        return found if self.at_most is None else np.where(self.at_most, np.maximum(found, 0.0), found)


def nearest(
    noisy: Floats,
    families: Sequence[FixedSums],
    low: Floats | float = 0.0,
    high: Floats | float = np.inf,
    met: float = _MET,
) -> Floats:
    """argmin Σ(x − noisy)² between the limits with the families' sums: one cut per class, each exact if the others stand."""
    cuts = [np.zeros(len(family.sums)) for family in families]
    away, found = np.zeros_like(noisy), np.clip(noisy, low, high)  # away: Σ cuts
    for _ in range(_SWEEPS if len(families) > 1 else len(families)):
        for place, family in enumerate(families):
            away -= cuts[place][family.classes]
            cuts[place] = family.cuts(noisy - away, low, high)
            away += cuts[place][family.classes]
        found = np.clip(noisy - away, low, high)
        if max(family.off(found) for family in families) < met:
            break
    return found


def within(noisy: Floats, low: Floats, high: Floats, families: Sequence[FixedSums]) -> Floats:
    """The nearest with the families' sums, and between the limits where that is possible."""
    scale = 1e-6 * float(np.abs(noisy).max(initial=1.0))
    low, high = _finite(noisy, low, high)
    found = nearest(noisy, families, low, high, scale)
    if max((family.off(found) for family in families), default=0.0) <= scale:
        return found
    width = high - low  # beyond the limits, each in proportion to how far they are apart
    for _ in range(_SWEEPS):
        for family in families:
            room = family.of(width)
            part = np.divide(family.sums - family.of(found), room, out=np.zeros_like(room), where=room > 0)
            found = found + width * part[family.classes]
    return found


def onto_box(points: Floats, low: Floats, high: Floats, totals: Floats | None) -> Floats:
    """The nearest points between the limits (draws × cells) that add up to the totals, if there are any."""
    if totals is None:
        return np.clip(points, low, high)
    low, high = _finite(points, low, high, float(np.abs(totals).max()))
    cut = _shift(points, low, high, totals, lambda x: x.sum(axis=1), lambda c: c[:, None])
    return np.clip(points - cut[:, None], low, high)


def _finite(points: Floats, low: Floats, high: Floats, largest: float = 1.0) -> tuple[Floats, Floats]:
    span = 4.0 * points.shape[-1] * max(float(np.abs(points).max(initial=1.0)), largest)
    return np.where(np.isinf(low), -span, low), np.where(np.isinf(high), span, high)


def _shift(
    values: Floats,
    low: Floats | float,
    high: Floats | float,
    sums: Floats,
    add: Callable[[Floats], Floats],
    spread: Callable[[Floats], Floats],
) -> Floats:
    """Find for each class the c with Σ clip(value − c, low, high) = its sum, by Newton's method between two ends.

    `add` takes cells to their classes, `spread` classes to their cells.
    """
    size = add(np.ones_like(values))
    below = np.full(len(sums), float(np.min(values - high, initial=np.inf)))
    above = np.full(len(sums), float(np.max(values - low, initial=-np.inf)))
    cut = np.clip((add(values) - sums) / np.maximum(size, 1.0), below, above)
    near = np.where(size > 0, _PRECISE * np.maximum(np.abs(sums), 1.0), np.inf)
    for _ in range(_HALVINGS):
        rest = values - spread(cut)
        off = add(np.clip(rest, low, high)) - sums
        left = np.abs(off) > near
        if not left.any():
            break
        below, above = np.where(off > near, cut, below), np.where(off < -near, cut, above)
        free = add(((rest > low) & (rest < high)).astype(np.float64))
        step = cut + off / np.maximum(free, 1.0)
        inside = (free > 0) & (step > below) & (step < above)
        cut = np.where(left, np.where(inside, step, (below + above) / 2.0), cut)
    return cut


def rounded(values: Floats, families: Sequence[FixedSums]) -> Floats:
    """Whole counts with the same whole sums; sums over neighbouring cells of a class are off by less than one."""
    if not families:
        return np.asarray(np.diff(np.rint(np.cumsum(values)), prepend=0.0))
    if len(families) == 1 or len(values) > _MOST_EXACT:
        family = families[0]
        order = np.argsort(family.classes, kind="stable")
        whole = np.empty_like(values)
        whole[order] = np.diff(np.rint(np.cumsum(_scaled(values, family)[order])), prepend=0.0)
        return whole
    return _program(values, families)


def _scaled(values: Floats, family: FixedSums) -> Floats:
    """Sums met exactly, so that running sums are whole at the end of every class."""
    sums = family.of(values)
    wanted = family.sums
    if family.at_most is not None:
        wanted = np.where(family.at_most, np.minimum(wanted, np.rint(sums)), wanted)
    sizes = np.bincount(family.classes, minlength=len(sums))
    times = np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
    even = np.where(sums > 0, 0.0, wanted / np.maximum(sizes, 1))
    return values * times[family.classes] + even[family.classes]


def _program(values: Floats, families: Sequence[FixedSums]) -> Floats:
    """The whole counts nearest to the values among those with the families' sums (of two families, a flow).

    Three or more margins in a circle may have no whole table: sums are then met as nearly as can be, their total exactly.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    base = np.floor(values + 1e-9)
    part = np.clip(values - base, 0.0, 1.0)
    count = len(values)
    # One step up costs 1 − 2·part, any further one 3; one down 1 + 2·part.
    costs = np.concatenate([1.0 - 2.0 * part, np.full(count, 3.0), 1.0 + 2.0 * part])
    upper = np.concatenate([np.ones(count), np.full(count, np.inf), base])
    rows, low, high = [], [], []
    for family in families:
        size = len(family.sums)
        member = csr_array((np.ones(count), (family.classes, np.arange(count))), shape=(size, count))
        filled = np.flatnonzero(np.bincount(family.classes, minlength=size))
        left = family.sums - family.of(base)
        least = left if family.at_most is None else np.where(family.at_most, -np.inf, left)
        rows.append(member[filled])
        low.append(least[filled])
        high.append(left[filled])
    table = vstack(rows)
    table = hstack([table, table, -table])
    circle = len(families) > 2
    if circle:
        met = eye_array(table.shape[0])
        table = hstack([table, met, -met])
        costs = np.append(costs, np.full(2 * table.shape[0], _MISSED))
        upper = np.append(upper, np.full(2 * table.shape[0], np.inf))
        if all(family.at_most is None for family in families):
            every = np.concatenate([np.ones(2 * count), -np.ones(count), np.zeros(2 * met.shape[0])])
            table = vstack([table, csr_array(every[None, :])])
            low.append(families[0].sums.sum(keepdims=True) - base.sum())
            high.append(low[-1])
    solved = milp(
        costs,
        integrality=np.full(len(costs), int(circle)),
        bounds=Bounds(np.zeros(len(costs)), upper),
        constraints=LinearConstraint(table.tocsc(), np.concatenate(low), np.concatenate(high)),
        # Not a time: what is published must not depend on how busy the machine is.
        options={"node_limit": 50},
    )
    if solved.x is None:
        return rounded(values, families[:1])
    up, more, down = np.rint(solved.x[: 3 * count]).reshape(3, count)
    return np.asarray(base + up + more - down)


def onto_rows(
    points: Floats, held: NDArray[np.bool_], rows: tuple[Floats, Floats], box: tuple[Floats, Floats]
) -> Floats:
    """Points (draws × cells) of which sums over the `held` cells lie between the ends of rows, and cells in their box."""
    sizes, near = np.maximum(held.sum(axis=1), 1), 1e-9 * max(float(np.abs(points).max()), 1.0)
    low, high = (np.broadcast_to(end, (len(points), len(held))) for end in rows)
    for _ in range(_ROUNDS):
        before, points = points, np.clip(points, *box)
        for row, cells in enumerate(held):
            sums = points[:, cells].sum(axis=1)
            short = np.clip(sums, low[:, row], high[:, row]) - sums
            points[:, cells] += (short / sizes[row])[:, None]
        if float(np.abs(points - before).max()) <= near:
            break
    return points


def onto_simplex(points: Floats, totals: Floats) -> Floats:
    """The nearest points with no negative part that add up to the totals (Held, Wolfe & Crowder 1974)."""
    falling = -np.sort(-points, axis=1)
    above = np.cumsum(falling, axis=1) - totals[:, None]
    places = np.arange(1, points.shape[1] + 1)
    last = np.maximum((falling * places > above).sum(axis=1), 1)
    level = above[np.arange(len(points)), last - 1] / last
    return np.asarray(np.maximum(points - level[:, None], 0.0))


def whole(tables: Floats) -> Floats:
    """Whole counts: every sum over the first cells is rounded to the nearest, so that no sum is off by much."""
    sums = np.rint(np.cumsum(tables, axis=1))
    return np.diff(sums, axis=1, prepend=0.0)
