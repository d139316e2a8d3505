"""The sample variance, exactly 0 where all values are equal; and for which attributes there is one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.attributes import Source
from coterie.table.columns.column import Column, NumericColumn

Floats = NDArray[np.float64]
_LARGEST, _NARROWEST = 1e140, 1e-140
_ROUNDING = 1e-12  # share of a value by which the mean of many such values may miss it


def variance(values: Floats) -> Floats:
    """Along the last axis (000 Eq. (5), 003 Eq. (5)). The rounded mean of equal decimals would leave 1e-34 of it."""
    return np.where(same(values), 0.0, np.var(values, axis=-1, ddof=1))


def same(values: Floats) -> NDArray[np.bool_]:
    """Whether all values along the last axis are equal."""
    return np.asarray(values.min(axis=-1) == values.max(axis=-1))


def alike(values: Floats) -> NDArray[np.bool_]:
    """Whether all *released* values along the last axis are equal but for rounding: group means of a constant 0.1 are."""
    low, high = values.min(axis=-1), values.max(axis=-1)
    return np.asarray(high - low <= _ROUNDING * np.maximum(np.abs(low), np.abs(high)))


def rounding(values: Floats) -> Floats:
    """Up to which squared error a constant column counts as unchanged; the column's values lie along the last axis."""
    return np.asarray((_ROUNDING * values[..., 0]) ** 2, dtype=np.float64)


def check_scales(columns: Iterable[Column]) -> None:
    """Refuse domains whose squares, summed over many records, are no doubles. Nobody measures in such units."""
    for column in columns:
        if not isinstance(column, NumericColumn) or column.domain.source is Source.DP:
            continue
        lower, upper = column.domain.lower, column.domain.upper
        if max(abs(lower), abs(upper)) > _LARGEST or upper - lower < _NARROWEST:
            raise ParameterError(
                f"The domain of '{column.attribute.name}' is too wide or too narrow to measure errors in it.",
                f"Choose another unit: bounds up to {_LARGEST:g}, and at least {_NARROWEST:g} apart.",
            )
