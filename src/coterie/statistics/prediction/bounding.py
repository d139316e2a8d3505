"""Sums as they can be, given how many records there are: a mean lies in its domain, a variance is not negative.

Of n records whose terms lie in [l, u] the sum lies in [n·l, n·u]; Σx² is at least (Σx)²/n, and |Σxy − ΣxΣy/n| at most the
root of the product of what is left of Σx² and Σy². Fitted cells keep these limits, and unions of cells then keep them as
well: so no published mean, variance or correlation has to be cut by itself, and all follow from the same sums and counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.specification.cells import Cells

_HALVINGS = 60
Terms = tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Inside:
    """The cells of one group as parts of the cells of another: `into[i]` is the cell that holds cell i (−1: none)."""

    group: int
    into: NDArray[np.int64]
    count: int

    def added(self, cells: Floats) -> Floats:
        """Draws × cells of this group, added up to the cells of the other."""
        member = np.zeros((len(self.into), self.count))
        kept = np.flatnonzero(self.into >= 0)
        member[kept, self.into[kept]] = 1.0
        return np.asarray(cells @ member)


def inside(group: int, finer: Cells, coarser: Cells) -> Inside | None:
    """None where some cell of `finer` lies in several of the other's."""
    axes = {axis.column: place for place, axis in enumerate(finer.axes)}
    at = finer.places()
    whole = np.zeros(len(finer), dtype=np.int64)
    lost = np.zeros(len(finer), dtype=np.bool_)
    for axis in coarser.axes:
        if axis.column not in axes:
            return None
        mine = finer.axes[axes[axis.column]]
        numbered = {condition: place for place, condition in enumerate(mine.conditions)}
        if not set(axis.conditions) <= numbered.keys():
            return None
        here = [numbered[condition] for condition in axis.conditions]
        atoms = np.array([axis.place.get(tuple(atom[i] for i in here), -1) for atom in mine.atoms])
        found = atoms[at[:, axes[axis.column]]]
        lost |= found < 0
        whole = whole * len(axis.atoms) + np.maximum(found, 0)
    place = np.searchsorted(coarser.possible, whole)
    place = np.minimum(place, max(len(coarser) - 1, 0))
    lost |= coarser.possible[place] != whole
    return Inside(group, np.where(lost, -1, place).astype(np.int64), len(coarser))


@dataclass(frozen=True, eq=False)
class Limits:
    """What keeps the sums of a group: `counts` has the records of its cells, `sums` other sums over the same cells."""

    terms: Terms
    ends: tuple[float, float]  # of one record's term
    last: tuple[float, float]  # of its last factor
    counts: Inside | None
    records: float | None  # of its only cell, where that is everybody
    sums: Mapping[Terms, Inside]

    def of(
        self, tables: Sequence[Floats], unseen: Sequence[NDArray[np.bool_]]
    ) -> tuple[Floats, Floats] | None:
        """Lower and upper limits, draws × cells."""
        if self.counts is None:
            if self.records is None:
                return None
            size = np.array([[self.records]])
            known = np.ones(1, dtype=np.bool_)
        else:
            size = self.counts.added(tables[self.counts.group])
            known = self.counts.added(unseen[self.counts.group][None, :].astype(np.float64))[0] == 0
        low, high = size * self.ends[0], size * self.ends[1]
        if len(self.terms) == 2:
            low, high = self._of_products(np.maximum(size, 1.0), low, high, tables)
        low = np.where(known, low, 0.0 if self.ends[0] >= 0 else -np.inf)
        return low, np.maximum(np.where(known, high, np.inf), low)

    def _of_products(
        self, size: Floats, low: Floats, high: Floats, tables: Sequence[Floats]
    ) -> tuple[Floats, Floats]:
        def fitted(*terms: tuple[str, float]) -> Floats | None:
            place = self.sums.get(terms)
            return None if place is None else place.added(tables[place.group])

        x, y = self.terms
        one, other = fitted(x), fitted(y)
        if one is None:
            return low, high
        if x == y:
            return np.maximum(low, np.minimum(one**2 / size, high)), high
        squares = fitted(x, x), fitted(y, y)
        if other is not None and squares[0] is not None and squares[1] is not None:
            middle = one * other / size
            left = np.maximum(squares[0] - one**2 / size, 0.0) * np.maximum(squares[1] - other**2 / size, 0.0)
            return np.maximum(low, middle - np.sqrt(left)), np.minimum(high, middle + np.sqrt(left))
        if x[1] == 0.0 and self.last[0] < 0.0 < self.last[1]:  # weights, and values around their middle
            return np.maximum(low, one * self.last[0]), np.minimum(high, one * self.last[1])
        return low, high


def onto_box(points: Floats, low: Floats, high: Floats, totals: Floats | None) -> Floats:
    """The nearest points between the limits (draws × cells) that add up to the totals, if there are any."""
    if totals is None:
        return np.clip(points, low, high)
    span = 4.0 * points.shape[1] * max(float(np.abs(points).max()), float(np.abs(totals).max()), 1.0)
    low, high = np.where(np.isinf(low), -span, low), np.where(np.isinf(high), span, high)
    below, above = (points - high).min(axis=1), (points - low).max(axis=1)
    for _ in range(_HALVINGS):
        cut = (below + above) / 2.0
        more = np.clip(points - cut[:, None], low, high).sum(axis=1) > totals
        below, above = np.where(more, cut, below), np.where(more, above, cut)
    found = np.clip(points - above[:, None], low, high)
    off = totals - found.sum(axis=1)  # what halving left over
    room = np.where(off[:, None] > 0, high - found, found - low)
    part = np.divide(off, room.sum(axis=1), out=np.zeros_like(off), where=room.sum(axis=1) > 0)
    return np.asarray(found + np.clip(part, -1.0, 1.0)[:, None] * room)
