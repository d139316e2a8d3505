"""The records of a large table, counted cell by cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError
from coterie.schema.arrays import Whole
from coterie.schema.attributes import Attribute, Schema
from coterie.statistics.releasing.records import LabelCodes, People, Typed, label_number
from coterie.statistics.specification.asked_values import MISSING, resolved
from coterie.statistics.specification.filters import Between, OneOf
from coterie.statistics.specification.groups import GroupValue
from coterie.statistics.specification.large_table import LargeTable


def count_cells(table: LargeTable, people: People, chosen: NDArray[np.bool_], schema: Schema) -> Whole:
    """How many of the chosen records lie in each cell, the last axis fastest."""
    place = np.zeros(people.records, dtype=np.int64)
    inside = chosen.copy()
    for axis, rest in zip(table.axes, table.rest, strict=True):
        here = _places(people.columns[axis[0].column], axis, schema[axis[0].column], schema)
        if rest:
            here = np.where(here < 0, len(axis), here)
        inside &= here >= 0
        place = place * (len(axis) + rest) + here
    if table.complete and not np.array_equal(inside, chosen):
        raise DataError(
            "Groups declared complete miss some records.",
            "Add the missing values to `by` or `bins`, or drop `complete`.",
        )
    return np.bincount(place[inside], minlength=table.everyone).astype(np.int64)


def _places(column: Typed, axis: tuple[GroupValue, ...], attribute: Attribute, schema: Schema) -> Whole:
    """Of each record the place of its value on the axis; -1 if it has another one, or none."""
    (_, first), *_ = axis[0].where.conditions
    if isinstance(first, Between):
        edges = [one.where.conditions[0][1] for one in axis]
        bounds = np.array([*(e.start for e in edges), edges[-1].below])  # type: ignore[union-attr]
        if not isinstance(column, LabelCodes):
            return _bins(column, bounds)
        numbers = np.array([*map(label_number, column.labels), None], dtype=np.float64)
        return _bins(numbers, bounds)[column.codes]
    meant = [resolved(one.where.conditions[0][1], attribute, schema) for one in axis]
    values = [one.values[0] for one in meant if isinstance(one, OneOf)]
    if isinstance(column, LabelCodes):
        known = {value: place for place, value in enumerate(values)}
        of_code = np.array([known.get(label, -1) for label in column.labels] + [-1])
        found = of_code[column.codes]
        return np.where(column.missing, known.get(MISSING, -1), found).astype(np.int64)
    gap = values.index(MISSING) if MISSING in values else -1
    listed = np.array([np.inf if value == MISSING else float(value) for value in values])
    order = np.argsort(listed, kind="stable")
    at = np.minimum(np.searchsorted(listed[order], column), len(listed) - 1)
    found = np.where(listed[order][at] == column, order[at], -1)
    return np.where(np.isnan(column), gap, found).astype(np.int64)


def _bins(numbers: NDArray[np.float64], bounds: NDArray[np.float64]) -> Whole:
    found = np.searchsorted(bounds, numbers, "right").astype(np.int64) - 1
    found[~(numbers < bounds[-1])] = -1  # beyond the last, or no number
    return found
