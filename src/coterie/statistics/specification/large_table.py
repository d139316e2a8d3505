"""Counts of so many cells that none of them is planned by itself: one statistic, measured as one array."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.arrays import Whole
from coterie.schema.attributes import Schema
from coterie.schema.exact import number_text
from coterie.statistics.specification.asked_values import only_labels
from coterie.statistics.specification.filters import Between
from coterie.statistics.specification.groups import ALL, GroupValue, above_axis, kept_in_totals
from coterie.statistics.specification.specification import StatisticKind

MOST_SINGLE = 2_048  # cells that are statistics of their own
MOST_CELLS = 100_000_000
_ONE_BY_ONE = ("about", "at_least", "shape", "route")
Number = TypeVar("Number", np.int64, np.float64)
_COUNTED = (StatisticKind.COUNT, StatisticKind.HISTOGRAM)


@dataclass(frozen=True, eq=False)
class LargeTable:
    """`axes` has the values along each column; `above` what totals are over; `kept` the columns of each total (None: all).

    `complete`: every record lies in some cell. Elsewhere an axis has one more place, for records with none of its values:
    it is measured and not published, so that totals are over everybody.
    """

    name: str
    axes: tuple[tuple[GroupValue, ...], ...]
    above: tuple[tuple[GroupValue, ...], ...]
    kept: tuple[frozenset[str], ...] | None
    complete: bool
    rest: tuple[bool, ...]  # along each axis, whether there is such a place

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(axis[0].column for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """With the places that are not published."""
        return tuple(len(axis) + rest for axis, rest in zip(self.axes, self.rest, strict=True))

    @property
    def cells(self) -> int:
        """How many are published."""
        return math.prod(len(axis) for axis in self.axes)

    @property
    def everyone(self) -> int:
        """How many places there are for records."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        sides = (f"{axis[0].column} ({len(axis):,})" for axis in self.axes)
        return f"{self.name}: {' × '.join(sides)}"

    def along(self, axis: int) -> tuple[GroupValue, ...]:
        """The values of a column, then what totals are over."""
        return (*self.axes[axis], *self.above[axis])

    def with_totals(self, cells: NDArray[Number]) -> NDArray[Number]:
        """The published values along each axis, with what is above them added up behind; flat."""
        cube = cells.reshape(self.shape)
        for place, (axis, above) in enumerate(zip(self.axes, self.above, strict=True)):
            parts: list[NDArray[Number]] = [np.take(cube, np.arange(len(axis)), place)]
            for one in above:
                held = cube if one.text == ALL else np.take(cube, sorted(one.covers), place)
                parts.append(held.sum(place, keepdims=True))
            cube = np.concatenate(parts, axis=place)
        return cube.ravel()

    @cached_property
    def places(self) -> tuple[NDArray[np.intp], ...]:
        """Of each figure that is published its place along each axis: the cells first, then the totals."""
        sides = tuple(len(self.along(axis)) for axis in range(len(self.axes)))
        fine = [np.arange(side) < len(axis) for side, axis in zip(sides, self.axes, strict=True)]
        cell = reduce(np.logical_and.outer, fine)
        if self.kept is None:
            total = ~cell
        else:
            whole = [np.arange(side) == side - 1 for side in sides]  # `all` is the last
            total = np.zeros(sides, dtype=np.bool_)
            for columns in self.kept:
                here = [f if c in columns else w for c, f, w in zip(self.columns, fine, whole, strict=True)]
                total |= reduce(np.logical_and.outer, here)
        flat = np.concatenate([np.flatnonzero(cell), np.flatnonzero(total)])
        return np.unravel_index(flat, sides)

    @property
    def totals(self) -> list[tuple[int, ...]]:
        """The axes that are kept in each total that is asked for."""
        axes = range(len(self.axes))
        if self.kept is None:
            return [kept for size in axes for kept in itertools.combinations(axes, size)]
        return [tuple(a for a in axes if self.columns[a] in columns) for columns in self.kept]

    @property
    def published(self) -> Whole:
        """The places of the figures in `with_totals`."""
        sides = tuple(len(self.along(axis)) for axis in range(len(self.axes)))
        return np.ravel_multi_index(self.places, sides).astype(np.int64)


def large_table(
    name: str,
    entry: Mapping[str, Any],
    kind: StatisticKind,
    axes: Sequence[list[GroupValue]],
    schema: Schema,
    where: str,
) -> LargeTable | None:
    """The table, if it is one of counts and has more cells than can be planned one by one."""
    cells = math.prod(len(axis) for axis in axes)
    if kind not in _COUNTED or cells <= MOST_SINGLE:
        return None
    if cells > MOST_CELLS:
        raise ParameterError(
            f"{where} has {cells:,} cells; at most {MOST_CELLS:,} fit in memory.",
            "Use wider bins, or fewer columns under `by`.",
        )
    told = [key for key in _ONE_BY_ONE if key in entry]
    told += ["expected"] if isinstance(entry.get("expected"), dict) else []
    if told:
        raise ParameterError(
            f"{where} has {cells:,} cells, so nothing can be said of one of them: it has no `{told[0]}`.",
            "Drop it; `expected` may be the count of a typical cell.",
        )
    columns = [axis[0].column for axis in axes]
    for column in columns:
        if columns.count(column) > 1:
            raise ParameterError(f"{where} uses '{column}' twice.", "Name each column once.")
    for axis in axes:
        if len({choice.text for choice in axis}) < len(axis):
            raise ParameterError(f"{where}: '{axis[0].column}' has a value twice.", "List each once.")
    kept = kept_in_totals(entry.get("totals", False), list(axes), where)
    above = [() if kept == [] else tuple(above_axis(axis, schema)) for axis in axes]
    if kept is not None:  # concepts are totals only where all are asked for
        above = [side[-1:] for side in above]
    return LargeTable(
        name,
        tuple(map(tuple, axes)),
        tuple(above),
        None if kept is None else tuple(kept),
        entry.get("complete") is True,
        tuple(entry.get("complete") is not True and not _holds_everybody(axis, schema) for axis in axes),
    )


def _holds_everybody(axis: Sequence[GroupValue], schema: Schema) -> bool:
    """Whether the schema leaves no record beside these values: a table with any other value is refused."""
    attribute = schema[axis[0].column]
    if attribute.gaps or not attribute.is_protected:
        return False
    labels = only_labels(attribute, schema)
    if labels is not None:
        return labels <= {choice.text for choice in axis}
    if attribute.domain is None:
        return False
    lower, upper = attribute.domain.lower, attribute.domain.upper
    first, last = (choice.where.conditions[0][1] for choice in (axis[0], axis[-1]))
    if isinstance(first, Between) and isinstance(last, Between):
        return first.start <= lower and upper < last.below
    if attribute.type != "integer" or upper - lower + 1 > len(axis):
        return False
    listed = {choice.text for choice in axis}
    return {number_text(float(value)) for value in range(math.ceil(lower), math.floor(upper) + 1)} <= listed


def every_condition(table: LargeTable) -> itertools.chain[GroupValue]:
    return itertools.chain.from_iterable(table.axes)
