"""The nearest table without negative counts that has given totals.

Totals are fitted from the top: first the whole, then the totals by fewer columns, then those by more, each nearest to its
noisy value among those that add up to what is fixed already; the cells last. Long columns are cut into blocks of 64 values,
whose sums are totals too, so that also sums over many neighbouring cells are right. What other tables of the release have in
common with this one is fixed beforehand, and met exactly.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import Attribute, AttributeType, Schema
from coterie.statistics.prediction.fixed_sums import FixedSums, connected, nearest, rounded, sums_of
from coterie.statistics.prediction.reconstruction import Group
from coterie.statistics.specification.asked_values import only_labels
from coterie.statistics.specification.filters import Axis, Between, Condition, Filter, OneOf, cuts_of
from coterie.statistics.specification.large_table import LargeTable

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


# What a large table has in common with the other counts of a release: sums that are fixed before its cells are fitted.

_MOST_LISTED = 100_000  # whole numbers of a domain that are gone through one by one


def with_counts(
    table: LargeTable, where: Filter, group: Group, counts: Floats, schema: Schema
) -> FixedMargin | None:
    """The margin that published counts of the cells of a group fix (∞ in `counts`: nobody knows it).

    None where the group does not know which records the table is about.
    """
    axes = {axis.column: axis for axis in group.cells.axes}
    for column, condition in where.conditions:
        if column not in axes or condition not in axes[column].conditions:
            return None
    held = group.cells.holds(where)
    places, counts = group.cells.places()[held], counts[held]
    shared = [column for column in table.columns if column in axes]
    classes: dict[int, NDArray[np.int64]] = {}
    index, sizes = np.zeros(len(counts), dtype=np.int64), []
    for column in shared:
        place = table.columns.index(column)
        along = places[:, [axis.column for axis in group.cells.axes].index(column)]
        of_values, of_atoms = _classes(table, place, axes[column], schema[column], schema)
        size = int(of_values.max()) + 1
        classes[place] = of_values
        index = index * size + of_atoms[along]
        sizes.append(size)
    # An atom that no value of the table meets holds nobody, unless values are refused that are there.
    met = index >= 0
    sums = sums_of(counts[met][None, :], index[met], math.prod(sizes))[0] if len(counts) else np.zeros(1)
    return FixedMargin(classes, sums.reshape(sizes))


def with_table(table: LargeTable, other: LargeTable, cells: Whole) -> FixedMargin | None:
    """The margin that a table which is fitted already fixes: over the columns that both cut alike."""
    alike = [
        (place, other.columns.index(column))
        for place, column in enumerate(table.columns)
        if column in other.columns
        and _conditions(table, place) == _conditions(other, other.columns.index(column))
        and table.rest[place] == other.rest[other.columns.index(column)]
    ]
    alike.sort(key=lambda pair: pair[1])
    kept = [theirs for _, theirs in alike]
    cube = cells.reshape(other.shape)
    sums = cube.sum(axis=tuple(axis for axis in range(cube.ndim) if axis not in kept), dtype=np.float64)
    return FixedMargin({mine: np.arange(table.shape[mine]) for mine, _ in alike}, np.asarray(sums))


def _conditions(table: LargeTable, place: int) -> list[Condition]:
    return [value.where.conditions[0][1] for value in table.axes[place]]


def _classes(
    table: LargeTable, place: int, axis: Axis, attribute: Attribute, schema: Schema
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each value of the table, and of each atom of the axis, the piece that both cut alike (−1: no value meets it)."""
    met = list(_atoms_met(table, place, axis, attribute, schema))
    part = connected(len(axis.atoms), ((atoms[0], atom) for atoms in met for atom in atoms[1:])).tolist()
    numbers: dict[int, int] = {}
    of_values = np.array([numbers.setdefault(part[atoms[0]], len(numbers)) for atoms in met], dtype=np.int64)
    of_atoms = np.array([numbers.get(part[atom], -1) for atom in range(len(axis.atoms))], dtype=np.int64)
    return of_values, of_atoms


def _atoms_met(
    table: LargeTable, place: int, axis: Axis, attribute: Attribute, schema: Schema
) -> Iterator[list[int]]:
    """Of each value of the table, and of the place for all others, the atoms that its records may lie in."""
    whole = attribute.type is AttributeType.INTEGER
    cuts = cuts_of(axis.conditions)

    def atoms_of(points: Sequence[tuple[str | None, float | None]]) -> list[int]:
        found = (axis.place.get(tuple(c.accepts(*point) for c in axis.conditions)) for point in points)
        return list(dict.fromkeys(atom for atom in found if atom is not None)) or [0]

    for condition in _conditions(table, place):
        if isinstance(condition, OneOf):
            (value,) = condition.values
            yield atoms_of([(value, None) if isinstance(value, str) else (None, value)])
        else:
            inside = cuts[
                bisect.bisect_left(cuts, condition.start) : bisect.bisect_left(cuts, condition.below)
            ]
            yield atoms_of([(None, point) for point in _points(condition, inside, whole=whole)])
    if table.rest[place]:
        covered = _covered(table, place, axis, attribute, schema)
        yield [atom for atom in range(len(axis.atoms)) if atom not in covered] or [0]


def _points(piece: Between, cuts: Sequence[float], *, whole: bool) -> list[float]:
    """Numbers of a range, at least one of each side of every cut."""
    if whole:
        first, last = math.ceil(piece.start), math.ceil(piece.below) - 1
        near = {first, last} | {math.floor(c) + step for c in cuts for step in (-1, 0, 1)}
        return [float(point) for point in near if first <= point <= last] or [piece.start]
    ends = [piece.start, *cuts, math.nextafter(piece.below, -math.inf)]
    return [*ends, *(a / 2 + b / 2 for a, b in itertools.pairwise(ends))]


def _covered(table: LargeTable, place: int, axis: Axis, attribute: Attribute, schema: Schema) -> set[int]:
    """Atoms of which every value is one of the table's: no record of theirs is elsewhere."""
    conditions = _conditions(table, place)
    listed = {value for c in conditions if isinstance(c, OneOf) for value in c.values}
    left: dict[int, bool] = {}
    if any(isinstance(c, Between) for c in axis.conditions):
        domain = attribute.domain
        if attribute.type is not AttributeType.INTEGER or domain is None or attribute.gaps:
            return set()
        if domain.upper - domain.lower > _MOST_LISTED or not attribute.is_protected:
            return set()
        points = [float(n) for n in range(math.ceil(domain.lower), math.floor(domain.upper) + 1)]
        ranges = [c for c in conditions if isinstance(c, Between)]
        starts = [c.start for c in ranges]
        for point in points:
            before = bisect.bisect_right(starts, point) - 1
            inside = point in listed or (before >= 0 and ranges[before].accepts(None, point))
            atom = axis.place.get(tuple(c.accepts(None, point) for c in axis.conditions), -1)
            left[atom] = left.get(atom, False) or not inside
        return {atom for atom, open_ in left.items() if not open_ and any(axis.atoms[max(atom, 0)])}
    named = {value for c in axis.conditions if isinstance(c, OneOf) for value in c.values}
    others = only_labels(attribute, schema) or frozenset()
    ranges = [c for c in conditions if isinstance(c, Between)]
    for value in named | others:
        text, number = (value, None) if isinstance(value, str) else (None, value)
        inside = value in listed or any(one.accepts(text, number) for one in ranges)
        accepted = tuple(c.accepts(text, number) for c in axis.conditions)
        if any(accepted):
            atom = axis.place.get(accepted, -1)
            left[atom] = left.get(atom, False) or not inside
    return {atom for atom, open_ in left.items() if not open_}


def of_counts(table: LargeTable, counts: Mapping[Filter, int]) -> Iterator[tuple[int, int]]:
    """Published figures that are counts by themselves, too: their place among the published ones, and which count."""
    alongs = [table.along(axis) for axis in range(len(table.axes))]
    at = [
        {
            value.where.conditions[0][1] if value.where.conditions else None: place
            for place, value in enumerate(along)
        }
        for along in alongs
    ]
    where = {int(flat): number for number, flat in enumerate(table.published.tolist())}
    sides = [len(along) for along in alongs]
    for chosen, which in counts.items():
        conditions = dict(chosen.conditions)
        if len(conditions) == len(chosen.conditions) and set(conditions) <= set(table.columns):
            places = [
                held.get(conditions.get(column), -1) for column, held in zip(table.columns, at, strict=True)
            ]
            if min(places) >= 0:
                number = where.get(int(np.ravel_multi_index(places, sides)))
                if number is not None:
                    yield number, which
