"""Columns as rules see them: numbers, or places of labels in their domain, NaN for what is missing; and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Flags, Floats
from coterie.schema.rules import Rows
from coterie.table.columns.column import MISSING_LABEL, CategoryColumn, Column


def as_rows(columns: Mapping[str, Column]) -> Rows:
    return rows_like(
        columns, {name: c.codes if isinstance(c, CategoryColumn) else c.values for name, c in columns.items()}
    )


def rows_like(columns: Mapping[str, Column], values: Mapping[str, NDArray[Any]]) -> Rows:
    """`values` as such columns hold them."""
    found = {name: _places(column, values[name]) for name, column in columns.items()}
    return Rows(found, {name: labels_of(column) for name, column in columns.items()})


def labels_of(column: Column) -> tuple[str, ...]:
    """The labels without the one for missing. Ordered labels count by their places in the schema's list."""
    if isinstance(column, CategoryColumn):
        return tuple(label for label in column.taxonomy.categories if label != MISSING_LABEL)
    declared = column.attribute.categories
    return () if declared is None else declared.labels or ()


def _places(column: Column, values: NDArray[Any]) -> Floats:
    if not isinstance(column, CategoryColumn):
        return np.array(values, dtype=np.float64)  # a copy, which may be worked on
    places, gap = values.astype(np.float64), column.gap
    if gap is not None:  # the labels behind it move up by one
        return np.where(places == gap, np.nan, places - (places > gap))
    return np.where(places < 0, np.nan, places)


def as_held(column: Column, places: Floats) -> NDArray[Any]:
    """Places as the column holds them: codes of labels, or numbers."""
    if not isinstance(column, CategoryColumn):
        return places
    gap = -1 if column.gap is None else column.gap
    codes = np.nan_to_num(places, nan=0.0)
    codes = codes + (codes >= gap) if gap >= 0 else codes
    return np.where(np.isnan(places), gap, codes).astype(np.int32)


def without(column: Column, here: Flags) -> Column:
    """The column with empty cells where they are not applicable."""
    if isinstance(column, CategoryColumn):
        assert column.gap is not None  # it is declared so
        return replace(column, codes=np.where(here, np.int32(column.gap), column.codes))
    return replace(column, values=np.where(here, np.nan, column.values))
