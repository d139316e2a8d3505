"""The nearest table without negative counts that has given totals.

Totals are fitted from the top: first the whole, then the totals by fewer columns, then those by more, each nearest to its
noisy value among those that add up to what is fixed already; the cells last. Long columns are cut into blocks of 64 values,
whose sums are totals too, so that also sums over many neighbouring cells are right. What other tables of the release have in
common with this one is fixed beforehand, and met exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from coterie.schema.arrays import Floats, Whole
from coterie.statistics.prediction.fixed_sums import FixedSums, nearest, rounded, sums_of
from coterie.statistics.prediction.linking import common_pieces
from coterie.statistics.prediction.reconstruction import Group
from coterie.statistics.specification.cells import Axis
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.large_table import LargeTable, ListedAxis

Axes = tuple[int, ...]
Levels = tuple[int, ...]  # along each axis: 0 is all of it, the last every value
_BLOCK = 64


@dataclass(frozen=True, eq=False)
class FixedMargin:
    """Sums that are known: `classes` has for some axes the class of each value, `sums` the total of each combination.

    Where a total is not known, it is ∞.
    """

    classes: Mapping[int, Whole]
    sums: Floats

    def over(self, axes: Iterable[int]) -> FixedMargin:
        """Added up over the others."""
        kept = [axis for axis in self.classes if axis in set(axes)]
        others = tuple(i for i, axis in enumerate(self.classes) if axis not in kept)
        return FixedMargin({axis: self.classes[axis] for axis in kept}, self.sums.sum(axis=others))

    def tells(self, other: FixedMargin) -> bool:
        """Whether it has every column of the other, and cuts each wherever the other does."""
        if not other.classes.keys() <= self.classes.keys() or np.isinf(self.sums).any():
            return False
        pairs = ((self.classes[axis], classes) for axis, classes in other.classes.items())
        return all(len(np.unique(mine * len(mine) + theirs)) == 1 + mine.max() for mine, theirs in pairs)

    def within(self, firsts: Sequence[Whole]) -> FixedSums:
        """As sums over a product of parts, of each of which one value is given."""
        along = [
            self.classes[axis][first] if axis in self.classes else np.zeros_like(first)
            for axis, first in enumerate(firsts)
        ]
        return _fixed(along, self.sums)


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
    def levels(self) -> list[list[Whole]]:
        """Along each axis ever finer parts, as the part of each value: all, the classes, blocks of them, every value."""
        found = []
        for axis, size in enumerate(self.noisy.shape):
            classes = self._classes(axis)
            order = np.argsort(classes, kind="stable")
            within = np.empty(size, dtype=np.int64)
            within[order] = np.arange(size) - np.searchsorted(classes[order], classes[order])
            parts = [np.arange(size)]
            side, longest = _BLOCK, size
            while longest > 2 * _BLOCK:
                parts.insert(0, np.unique(classes * size + within // side, return_inverse=True)[1])
                side, longest = side * _BLOCK, math.ceil(longest / _BLOCK)
            steps = [np.zeros(size, dtype=np.int64), classes, *parts]
            found.append([b for a, b in itertools.pairwise([steps[0] - 1, *steps]) if b.max() > a.max()])
        return found

    def _classes(self, axis: int) -> Whole:
        """The pieces into which what is fixed cuts an axis."""
        found = np.zeros(self.noisy.shape[axis], dtype=np.int64)
        for margin in self.fixed:
            if axis in margin.classes:
                one = margin.classes[axis]
                found = np.unique(found * (int(one.max()) + 1) + one, return_inverse=True)[1]
        return found

    @property
    def finest(self) -> Levels:
        return tuple(len(levels) - 1 for levels in self.levels)

    def counts(self, totals: Iterable[Axes], whole: int | None) -> Whole:
        done: dict[Levels, Floats] = {}
        for levels in self._margins(totals):
            if any(levels):
                parts = [self.levels[axis][level] for axis, level in enumerate(levels)]
                sizes = [int(part.max()) + 1 for part in parts]
                index = np.ravel_multi_index(np.ix_(*parts), sizes).ravel()
                summed = np.bincount(index, self.noisy.ravel(), math.prod(sizes)).astype(np.float64)
                done[levels] = nearest(summed, self._families(levels, done))
            else:
                sums = (float(margin.sums.sum()) for margin in self.fixed)
                known = next((total for total in sums if math.isfinite(total)), whole)
                total = max(float(self.noisy.sum()), 0.0) if known is None else known
                done[levels] = np.full(1, total, dtype=np.float64)
        return self._whole(done[self.finest]).reshape(self.noisy.shape)

    def _families(self, levels: Levels, done: Mapping[Levels, Floats]) -> list[FixedSums]:
        """What is fitted already, where no finer total of it is; and what was fixed beforehand."""
        below = [one for one in done if _coarser(one, levels)]
        largest = [one for one in below if not any(_coarser(one, other) for other in below)]
        firsts = self._firsts(levels)
        found = []
        for one in largest:
            along = [
                self.levels[axis][level][first]
                for axis, (level, first) in enumerate(zip(one, firsts, strict=True))
            ]
            found.append(_fixed(along, done[one]))
        seen = [axis for axis, level in enumerate(levels) if level]
        for margin in self.fixed:
            part = margin.over(seen)
            told = any(one[axis] for one in largest for axis in part.classes)
            if len(part.classes) > 1 or (part.classes and not told):  # over one column classes are totals
                found.append(part.within(firsts))
        return found

    def _firsts(self, levels: Levels) -> list[Whole]:
        """Along each axis one value of each part."""
        parts = (self.levels[axis][level] for axis, level in enumerate(levels))
        return [np.unique(part, return_index=True)[1] for part in parts]

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
        families = [margin.within(self._firsts(self.finest)) for margin in self.fixed if margin.classes]
        if not families:
            return rounded(cells, []).astype(np.int64)
        index = families[0].classes
        for family in families[1:]:
            index = index * len(family.sums) + family.classes
        used, first, index = np.unique(index, return_index=True, return_inverse=True)
        coarse = [replace(family, classes=family.classes[first]) for family in families]
        sums = np.asarray(np.bincount(index, weights=cells, minlength=len(used)), dtype=np.float64)
        together = FixedSums(index, rounded(nearest(sums, coarse), coarse))
        return rounded(cells, [together]).astype(np.int64)


def _coarser(one: Levels, other: Levels) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def _fixed(along: Sequence[Whole], sums: Floats) -> FixedSums:
    """Sums over a product of classes, given along each axis; ∞ where one is not known."""
    sizes = [int(one.max()) + 1 for one in along]
    classes = np.ravel_multi_index(np.ix_(*along), sizes).ravel()
    flat = sums.ravel()
    return FixedSums(classes, flat, None if np.isfinite(flat).all() else np.isinf(flat))


# What a large table has in common with the other counts of a release: sums that are fixed before its cells are fitted.


def with_counts(table: LargeTable, where: Filter, group: Group, counts: Floats) -> FixedMargin | None:
    """The margin that published counts of the cells of a group fix (∞ in `counts`: nobody knows it).

    None where the group does not know which records the table is about.
    """
    cells = group.cells
    for column, condition in where.conditions:
        if column not in cells.axis_of or condition not in cells.axes[cells.axis_of[column]].conditions:
            return None
    held = cells.holds(where)
    return _margin(table, cells.axes, cells.places()[held].T, counts[held])


def with_table(table: LargeTable, other: LargeTable, cells: Whole) -> FixedMargin:
    """The margin that a table which is fitted already fixes."""
    cube = cells.reshape(other.shape)
    apart = tuple(place for place, axis in enumerate(other.axes) if axis.column not in table.columns)
    sums = np.asarray(cube.sum(axis=apart), dtype=np.float64)
    shared = [axis for place, axis in enumerate(other.axes) if place not in apart]
    return _margin(table, shared, np.indices(sums.shape).reshape(len(shared), sums.size), sums.ravel())


def _margin(
    table: LargeTable, axes: Sequence[Axis | ListedAxis], places: Whole, counts: Floats
) -> FixedMargin:
    """Counts of cells, of which `places` has the atom along each axis, added up over the pieces that both cut alike."""
    at = {axis.column: place for place, axis in enumerate(axes)}
    classes: dict[int, Whole] = {}
    index, sizes = np.zeros(len(counts), dtype=np.int64), []
    met = np.ones(len(counts), dtype=np.bool_)  # a piece that no value of the table meets holds nobody
    for place, axis in enumerate(table.axes):
        if axis.column in at:
            classes[place], pieces = common_pieces([axis, axes[at[axis.column]]])
            sizes.append(1 + int(classes[place].max()))
            along = pieces[places[at[axis.column]]]
            met &= along < sizes[-1]
            index = index * sizes[-1] + along
    sums = sums_of(counts[met][None, :], index[met], math.prod(sizes))
    return FixedMargin(classes, sums.reshape(sizes))


def of_counts(table: LargeTable, counts: Mapping[Filter, int]) -> Iterator[tuple[int, int]]:
    """Published figures that are counts by themselves, too: their place among the published ones, and which count."""
    at = [{value.where.conditions: place for place, value in enumerate(axis.along)} for axis in table.axes]
    for chosen, which in counts.items():
        asked = [tuple(c for c in chosen.conditions if c[0] == column) for column in table.columns]
        if sum(map(len, asked)) == len(chosen.conditions):
            places = [held.get(conditions, -1) for held, conditions in zip(at, asked, strict=True)]
            same = [along == place for along, place in zip(table.places, places, strict=True)]
            yield from ((number, which) for number in np.flatnonzero(np.all(same, axis=0)).tolist())
