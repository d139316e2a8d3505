"""The nearest counts with given sums: none negative, and rounded to whole ones that have the same sums.

Minimise Σ(x − z)² with x ≥ 0 and given sums over several families of classes. The solution is x = max(z − Σ cuts, 0), one
cut per class. The cuts of one family are exact if the others stand, and all are gone through until sums agree (block
coordinate ascent on the dual).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats

_SWEEPS = 60
_MET = 0.05  # of one record: how far sums may be off before counts are rounded
_MISSED = 20.0  # what a sum that is off by one costs, against a count that is
_HALVINGS = 60
_MOST_EXACT = 50_000  # counts that are rounded by a program in whole numbers


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


def nearest(noisy: Floats, families: Sequence[FixedSums]) -> Floats:
    """Not negative, with the families' sums; without any, cut at zero."""
    if not families:
        return np.maximum(noisy, 0.0)
    cuts = [np.zeros(len(family.sums)) for family in families]
    away = np.zeros_like(noisy)  # Σ cuts
    found = noisy
    for _ in range(_SWEEPS if len(families) > 1 else 1):
        for place, family in enumerate(families):
            away -= cuts[place][family.classes]
            cuts[place] = _cuts(noisy - away, family)
            away += cuts[place][family.classes]
        found = np.maximum(noisy - away, 0.0)
        if max(_off(found, family) for family in families) < _MET:
            break
    return found


def within(noisy: Floats, low: Floats, high: Floats, families: Sequence[FixedSums]) -> Floats:
    """The nearest with the families' sums, and between the limits where that is possible."""
    span = 4.0 * len(noisy) * float(np.abs(noisy).max(initial=1.0))
    low, high = np.where(np.isinf(low), -span, low), np.where(np.isinf(high), span, high)
    found = _within(noisy, low, high, families)
    scale = 1e-6 * float(np.abs(noisy).max(initial=1.0))
    if max((_off(found, family) for family in families), default=0.0) <= scale:
        return found
    width = high - low  # beyond the limits, each in proportion to how far they are apart
    for _ in range(_SWEEPS):
        for family in families:
            room = family.of(width)
            part = np.divide(family.sums - family.of(found), room, out=np.zeros_like(room), where=room > 0)
            found = found + width * part[family.classes]
    return found


def _within(noisy: Floats, low: Floats, high: Floats, families: Sequence[FixedSums]) -> Floats:
    cuts = [np.zeros(len(family.sums)) for family in families]
    away, found = np.zeros_like(noisy), np.clip(noisy, low, high)
    for _ in range(_SWEEPS if len(families) > 1 else 1):
        for place, family in enumerate(families):
            away -= cuts[place][family.classes]
            rest = noisy - away
            below, above = np.zeros(len(family.sums)), np.zeros(len(family.sums))
            np.minimum.at(below, family.classes, rest - high)
            np.maximum.at(above, family.classes, rest - low)
            for _ in range(_HALVINGS):
                cut = (below + above) / 2.0
                more = family.of(np.clip(rest - cut[family.classes], low, high)) > family.sums
                below, above = np.where(more, cut, below), np.where(more, above, cut)
            cuts[place] = above
            away += above[family.classes]
        before, found = found, np.clip(noisy - away, low, high)
        if float(np.abs(found - before).max(initial=0.0)) <= 1e-9 * float(np.abs(found).max(initial=1.0)):
            break
    return found


def _off(found: Floats, family: FixedSums) -> float:
    off = family.of(found) - family.sums
    if family.at_most is not None:
        off[family.at_most] = np.maximum(off[family.at_most], 0.0)
    filled = np.bincount(family.classes, minlength=len(family.sums)) > 0
    return float(np.abs(off[filled]).max(initial=0.0))


def _cuts(values: Floats, family: FixedSums) -> Floats:
    """Of each class the c with Σ max(value − c, 0) = its sum: the largest j for which the j-th value is above its c."""
    order = np.lexsort((-values, family.classes))
    falling, classes = values[order], family.classes[order]
    count = len(family.sums)
    starts = np.searchsorted(classes, np.arange(count))
    sizes = np.diff(np.append(starts, len(classes)))
    summed = np.concatenate([[0.0], np.cumsum(falling)])
    rank = np.arange(len(classes)) - starts[classes] + 1
    tried = (summed[1:] - summed[starts[classes]] - family.sums[classes]) / rank
    above = np.bincount(classes, weights=falling > tried, minlength=count).astype(np.int64)
    filled = sizes > 0
    found = np.zeros(count)
    last = np.maximum(starts + above - 1, 0)
    found[filled] = tried[last[filled]]
    none = filled & (above == 0)  # the sum is zero: everything is cut off
    found[none] = falling[starts[none]]
    return found if family.at_most is None else np.where(family.at_most, np.maximum(found, 0.0), found)


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
