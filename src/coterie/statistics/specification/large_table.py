"""Counts of so many cells that none of them is planned by itself: one statistic, measured as one array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.arrays import Flags, Whole
from coterie.schema.attributes import Schema
from coterie.statistics.specification.asked_values import one_spelling, only_values
from coterie.statistics.specification.cells import Points, Possible, representatives
from coterie.statistics.specification.filters import Between, Condition, Value
from coterie.statistics.specification.groups import (
    ALL,
    GroupValue,
    StatisticEntry,
    above_axis,
    kept_in_totals,
)
from coterie.statistics.specification.specification import StatisticKind

MOST_SINGLE = 2_048  # cells that are statistics of their own
MOST_CELLS = 100_000_000
_ONE_BY_ONE = ("about", "at_least", "shape", "route")
Number = TypeVar("Number", np.int64, np.float64)
_COUNTED = (StatisticKind.COUNT, StatisticKind.HISTOGRAM)


def places_among(conditions: Sequence[Condition], points: Points) -> Whole:
    """The place of each point among these values, or among bins that follow each other; -1: none."""
    first, last = conditions[0], conditions[-1]
    if isinstance(first, Between) and isinstance(last, Between):
        bounds = np.array([*(c.start for c in conditions if isinstance(c, Between)), last.below])
        found = np.searchsorted(bounds, points.numbers, "right") - 1
        return np.where(points.numbers < last.below, found, -1)
    known: dict[Value | None, int] = {}
    for place, condition in enumerate(conditions):
        known |= {} if isinstance(condition, Between) else dict.fromkeys(condition.values, place)
    numbers = np.array(sorted(value for value in known if isinstance(value, float)) or [math.inf])
    at = np.minimum(np.searchsorted(numbers, points.numbers), len(numbers) - 1)
    listed = np.array([known.get(number, -1) for number in numbers.tolist()])
    found = np.where(numbers[at] == points.numbers, listed[at], -1)
    if points.texts:
        found = np.array([known.get(text, at) for text, at in zip(points.texts, found.tolist(), strict=True)])
    return found


@dataclass(frozen=True, eq=False)
class ListedAxis:
    """A column of a large table: its values or bins, and what totals are over.

    Where `rest`, there is one more place, for records with none of the values: it is measured and not published, so that
    totals are over everybody.
    """

    values: tuple[GroupValue, ...]
    above: tuple[GroupValue, ...]
    possible: Possible | None
    rest: bool

    def __len__(self) -> int:
        return len(self.values) + self.rest

    @property
    def column(self) -> str:
        return self.values[0].column

    @property
    def along(self) -> tuple[GroupValue, ...]:
        """The values, then what totals are over."""
        return (*self.values, *self.above)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(value.where.conditions[0][1] for value in self.values)

    def places(self, points: Points) -> Whole:
        """The place of each point; -1: none."""
        found = places_among(self.conditions, points)
        return np.where(found < 0, len(self.values), found) if self.rest else found


@dataclass(frozen=True, eq=False)
class LargeTable:
    """`kept` are the columns of each total (None: all totals there are). `complete`: every record lies in some cell."""

    name: str
    axes: tuple[ListedAxis, ...]
    kept: tuple[frozenset[str], ...] | None
    complete: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(axis.column for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of places on each axis, with those that are not published."""
        return tuple(map(len, self.axes))

    @property
    def cells(self) -> int:
        """How many are published."""
        return math.prod(len(axis.values) for axis in self.axes)

    @property
    def everyone(self) -> int:
        """How many places there are for records."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        sides = (f"{axis.column} ({len(axis.values):,})" for axis in self.axes)
        return f"{self.name}: {' × '.join(sides)}"

    def with_totals(self, cells: NDArray[Number]) -> NDArray[Number]:
        """The figures that are published: the cells, then the totals."""
        cube = cells.reshape(self.shape)
        for place, axis in enumerate(self.axes):
            parts: list[NDArray[Number]] = [np.take(cube, np.arange(len(axis.values)), place)]
            for one in axis.above:
                held = cube if one.text == ALL else np.take(cube, sorted(one.covers), place)
                parts.append(held.sum(place, keepdims=True))
            cube = np.concatenate(parts, axis=place)
        return cube[self.places]

    @cached_property
    def places(self) -> tuple[NDArray[np.intp], ...]:
        """The place of each published figure along each axis: the cells first, then the totals."""
        sides = [np.arange(len(axis.along)) for axis in self.axes]
        fine = [side < len(axis.values) for side, axis in zip(sides, self.axes, strict=True)]
        cell = _product(fine)
        if self.kept is None:
            total = ~cell
        else:
            whole = [side == side[-1] for side in sides]  # `all` is the last
            total = np.zeros_like(cell)
            for kept in self.totals:
                total |= _product([(fine if axis in kept else whole)[axis] for axis in range(len(sides))])
        flat = np.concatenate([np.flatnonzero(cell), np.flatnonzero(total)])
        return np.unravel_index(flat, cell.shape)

    @property
    def totals(self) -> list[tuple[int, ...]]:
        """The axes that are kept in each total that is asked for."""
        axes = range(len(self.axes))
        if self.kept is None:
            return [kept for size in axes for kept in itertools.combinations(axes, size)]
        return [tuple(a for a in axes if self.columns[a] in columns) for columns in self.kept]


def _product(sides: Sequence[Flags]) -> Flags:
    return np.asarray(reduce(np.logical_and.outer, sides))


def large_table(entry: StatisticEntry, axes: Sequence[list[GroupValue]]) -> LargeTable | None:
    """The table, if it is one of counts and has more cells than can be planned one by one."""
    cells, where = math.prod(len(axis) for axis in axes), entry.where
    if entry.kind not in _COUNTED or cells <= MOST_SINGLE:
        return None
    if cells > MOST_CELLS:
        raise ParameterError(
            f"{where} has {cells:,} cells; at most {MOST_CELLS:,} fit in memory.",
            "Use wider bins, or fewer columns under `by`.",
        )
    told = [key for key in _ONE_BY_ONE if key in entry.content]
    told += ["expected"] if isinstance(entry.get("expected"), dict) else []
    if told:
        raise ParameterError(
            f"{where} has {cells:,} cells, so nothing can be said of one of them: it has no `{told[0]}`.",
            "Drop it; `expected` may be the count of a typical cell.",
        )
    columns = [axis[0].column for axis in axes]
    for column, axis in zip(columns, axes, strict=True):
        if columns.count(column) > 1:
            raise ParameterError(f"{where} uses '{column}' twice.", "Name each column once.")
        if len({choice.text for choice in axis}) < len(axis):
            raise ParameterError(f"{where}: '{column}' has a value twice.", "List each once.")
    kept, complete = kept_in_totals(entry, axes), entry.get("complete") is True
    listed = tuple(_listed(axis, kept, entry.schema, complete=complete) for axis in axes)
    return LargeTable(entry.name, listed, None if kept is None else tuple(kept), complete)


def _listed(
    axis: list[GroupValue], kept: Sequence[frozenset[str]] | None, schema: Schema, *, complete: bool
) -> ListedAxis:
    """The axis with one spelling for each value; no rest where the schema leaves no record beside the values."""
    above = [] if kept == [] else above_axis(axis, schema)
    if kept is not None:  # concepts are totals only where all are asked for
        above = above[-1:]
    if not isinstance(axis[0].where.conditions[0][1], Between):
        axis = [replace(choice, where=one_spelling(choice.where, schema)) for choice in axis]
    found = ListedAxis(tuple(axis), tuple(above), only_values(schema[axis[0].column], schema), rest=False)
    beside = found.places(representatives(found.conditions, found.possible)) < 0
    return replace(found, rest=bool(beside.any()) and not complete)
