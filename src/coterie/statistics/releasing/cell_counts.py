"""The records of a large table, counted cell by cell."""

from __future__ import annotations

import numpy as np

from coterie.errors import DataError
from coterie.schema.arrays import Flags, Whole
from coterie.schema.attributes import Schema
from coterie.statistics.releasing.records import LabelCodes, People, Typed, label_points
from coterie.statistics.specification.asked_values import MISSING, resolved
from coterie.statistics.specification.cells import Points
from coterie.statistics.specification.large_table import LargeTable, ListedAxis, places_among


def count_cells(table: LargeTable, people: People, chosen: Flags, schema: Schema) -> Whole:
    """How many of the chosen records lie in each cell, the last axis fastest."""
    place = np.zeros(people.records, dtype=np.int64)
    inside = chosen.copy()
    for axis in table.axes:
        here = _places(people.columns[axis.column], axis, schema)
        if axis.rest:
            here = np.where(here < 0, len(axis.values), here)
        inside &= here >= 0
        place = place * len(axis) + here
    if table.complete and not np.array_equal(inside, chosen):
        raise DataError(
            "Groups declared complete miss some records.",
            "Add the missing values to `by` or `bins`, or drop `complete`.",
        )
    return np.bincount(place[inside], minlength=table.everyone).astype(np.int64)


def _places(column: Typed, axis: ListedAxis, schema: Schema) -> Whole:
    """The place of each record's value on the axis; -1 if it has another value, or none."""
    meant = [resolved(condition, schema[axis.column], schema) for condition in axis.conditions]
    if isinstance(column, LabelCodes):
        codes, labels = label_points(column)
        return places_among(meant, labels)[codes]
    missing = places_among(meant, Points([MISSING], np.full(1, np.nan)))
    return np.where(np.isnan(column), missing, places_among(meant, Points([], column)))
