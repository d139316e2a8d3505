"""The nearest table without negative counts that has given totals.

Totals are fitted from the top: first the whole, then the totals by fewer columns, then those by more, each nearest to its
noisy value among those that add up to what is fixed already; the cells last. Long columns are cut into blocks of 64 values,
whose sums are totals too, so that also sums over many neighbouring cells are right. What other tables of the release have in
common with this one is fixed beforehand, and met exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats, Whole
from coterie.statistics.prediction.nearest import FixedSums, nearest, rounded

Axes = tuple[int, ...]
Levels = tuple[int, ...]  # along each axis: 0 is all of it, the last every value
_BLOCK = 64


@dataclass(frozen=True, eq=False)
class FixedMargin:
    """Sums that are known: `classes` has for some axes the class of each value, `sums` the total of each combination.

    Where a total is not known, it is ∞.
    """

    classes: Mapping[int, NDArray[np.int64]]
    sums: Floats

    def over(self, axes: Iterable[int]) -> FixedMargin:
        """Added up over the others."""
        kept = [axis for axis in self.classes if axis in set(axes)]
        others = tuple(i for i, axis in enumerate(self.classes) if axis not in kept)
        return FixedMargin({axis: self.classes[axis] for axis in kept}, self.sums.sum(axis=others))


def nearest_counts(
    noisy: Whole, totals: Iterable[Axes], whole: int | None, fixed: Sequence[FixedMargin] = ()
) -> Whole:
    """`totals` are the sets of axes that are kept in a total; `whole`: the number of records, where it is known."""
    return _Fitting(noisy, tuple(fixed)).counts(totals, whole)


@dataclass(frozen=True, eq=False)
class _Fitting:
    noisy: Whole
    fixed: tuple[FixedMargin, ...]

    @cached_property
    def orders(self) -> list[NDArray[np.int64]]:
        """Along each axis its values, those of one class side by side."""
        return [np.argsort(self._cut(axis), kind="stable") for axis in range(self.noisy.ndim)]

    def _cut(self, axis: int) -> NDArray[np.int64]:
        """The pieces into which what is fixed cuts an axis."""
        found = np.zeros(self.noisy.shape[axis], dtype=np.int64)
        for margin in self.fixed:
            if axis in margin.classes:
                one = margin.classes[axis]
                found = np.unique(found * (int(one.max()) + 1) + one, return_inverse=True)[1]
        return found

    @cached_property
    def levels(self) -> list[list[NDArray[np.int64]]]:
        """Along each axis where its parts begin: all, the classes, blocks of them, every value."""
        found = []
        for axis, size in enumerate(self.noisy.shape):
            classes = self._cut(axis)[self.orders[axis]]
            edges = np.flatnonzero(np.diff(classes, prepend=-1))
            parts = [np.arange(size)]
            side, longest = _BLOCK, size
            while longest > 2 * _BLOCK:
                within = np.arange(size) - np.repeat(edges, np.diff(np.append(edges, size)))
                parts.insert(0, np.flatnonzero(within % side == 0))
                side, longest = side * _BLOCK, math.ceil(longest / _BLOCK)
            steps = [np.zeros(1, dtype=np.int64), edges, *parts]
            found.append([a for i, a in enumerate(steps) if i == 0 or len(a) > len(steps[i - 1])])
        return found

    @property
    def finest(self) -> Levels:
        return tuple(len(levels) - 1 for levels in self.levels)

    @cached_property
    def cube(self) -> Floats:
        return np.asarray(self.noisy[np.ix_(*self.orders)], dtype=np.float64)

    def counts(self, totals: Iterable[Axes], whole: int | None) -> Whole:
        done: dict[Levels, Floats] = {}
        for levels in self._margins(totals):
            summed = self.cube
            for axis, level in enumerate(levels):
                if level < self.finest[axis]:
                    summed = np.add.reduceat(summed, self.levels[axis][level], axis=axis)
            if not any(levels):
                sums = (float(margin.sums.sum()) for margin in self.fixed)
                known = next((total for total in sums if math.isfinite(total)), whole)
                done[levels] = np.full(
                    summed.shape, max(float(summed.sum()), 0.0) if known is None else known
                )
                continue
            families = self._families(levels, summed.shape, done)
            done[levels] = nearest(summed.ravel(), families).reshape(summed.shape)
        cells = done[self.finest]
        back = np.empty(self.noisy.shape, dtype=np.int64)
        back[np.ix_(*self.orders)] = self._whole(cells)
        return back

    def _families(
        self, levels: Levels, shape: tuple[int, ...], done: Mapping[Levels, Floats]
    ) -> list[FixedSums]:
        """What is fitted already, where no finer total of it is; and what was fixed beforehand."""
        below = [
            one for one in done if one != levels and all(a <= b for a, b in zip(one, levels, strict=True))
        ]
        largest = [
            one
            for one in below
            if not any(o != one and all(a <= b for a, b in zip(one, o, strict=True)) for o in below)
        ]
        found = []
        for one in largest:
            along = [
                np.searchsorted(self.levels[axis][coarse], self.levels[axis][fine], "right") - 1
                for axis, (coarse, fine) in enumerate(zip(one, levels, strict=True))
            ]
            sums = done[one]
            index = np.ravel_multi_index(np.ix_(*along), sums.shape)
            found.append(FixedSums(np.broadcast_to(index, shape).ravel(), sums.ravel()))
        seen = [axis for axis, level in enumerate(levels) if level]
        for margin in self.fixed:
            part = margin.over(seen)
            told = any(one[axis] for one in largest for axis in part.classes)
            if len(part.classes) > 1 or (part.classes and not told):  # over one column classes are totals
                found.append(self._known(part, levels, shape))
        return found

    def _known(self, margin: FixedMargin, levels: Levels, shape: tuple[int, ...]) -> FixedSums:
        along = [np.zeros(size, dtype=np.int64) for size in shape]
        times = 1
        for axis, size in zip(reversed(list(margin.classes)), reversed(margin.sums.shape), strict=True):
            first = self.orders[axis][self.levels[axis][levels[axis]]]
            along[axis] = margin.classes[axis][first] * times
            times *= size
        index = sum(np.ix_(*along))
        sums = margin.sums.ravel()
        return FixedSums(
            np.broadcast_to(index, shape).ravel(), sums, None if np.isfinite(sums).all() else np.isinf(sums)
        )

    def _margins(self, totals: Iterable[Axes]) -> list[Levels]:
        """The totals that are fitted, coarser ones first: of every column, those asked for, what these have in common."""
        axes = range(self.noisy.ndim)
        asked = {(axis,) for axis in axes} | set(totals) | {tuple(axes)}
        asked |= {tuple(sorted(set(a) & set(b))) for a, b in itertools.product(asked, asked)}
        found: set[Levels] = {(0,) * self.noisy.ndim, self.finest}
        for kept in asked:
            for many in itertools.product(*(range(1, self.finest[axis] + 1) for axis in kept)):
                if len(kept) == 1 or all(n == self.finest[a] for a, n in zip(kept[:-1], many, strict=False)):
                    chosen = dict(zip(kept, many, strict=True))
                    found.add(tuple(chosen.get(axis, 0) for axis in axes))
        return sorted(found, key=lambda one: (sum(one), one))

    def _whole(self, cells: Floats) -> Whole:
        """Rounded along the order of cells, within what is fixed: sums over neighbouring cells are off by less than one."""
        shape = cells.shape
        families = [self._known(margin, self.finest, shape) for margin in self.fixed if margin.classes]
        if not families:
            return rounded(cells.ravel(), []).reshape(shape).astype(np.int64)
        index = families[0].classes
        for family in families[1:]:
            index = index * len(family.sums) + family.classes
        used, first, index = np.unique(index, return_index=True, return_inverse=True)
        coarse = [replace(family, classes=family.classes[first]) for family in families]
        sums = np.asarray(np.bincount(index, weights=cells.ravel(), minlength=len(used)), dtype=np.float64)
        together = FixedSums(index, rounded(nearest(sums, coarse), coarse))
        return rounded(cells.ravel(), [together]).reshape(shape).astype(np.int64)
