"""How far a released column is from the original: squared error, variance and semantic distance.

Measures of utility and the internal figures of a release read these, so they agree to the last digit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.schema.taxonomy.orders import encode
from coterie.table.columns.column import CategoryColumn, Codes

_ROUNDING = 1e-12  # share of a value by which the mean of many such values may miss it


def present(values: Floats) -> Floats:
    """Without what is missing."""
    absent = np.isnan(values)
    return values[~absent] if absent.any() else values


def squared_error(original: Floats, released: Floats) -> float:
    """Mean over the records, in variances of the original (Soria-Comas et al., Eq. (4)–(5), with σ for σ²)."""
    error = np.mean((released - original) ** 2)
    return float(in_variances(error, float(variance(original)), rounding(original)))


def variance_change(original: Floats, released: Floats) -> float:
    """|σ² − σ'²| / σ² (Sánchez et al. 2016, §4.2)."""
    after = np.where(alike(released), 0.0, variance(released))
    return float(relative_change(variance(original), after))


def semantic_distance(column: CategoryColumn, released: Codes) -> float:
    """Mean of δ over the records (Sánchez et al. 2016, Eq. (3))."""
    return float(np.mean(column.distance[column.codes, released]))


def in_label_order(column: CategoryColumn, codes: Codes) -> Codes:
    return codes[np.argsort(encode(codes, column.order))]


def variance(values: Floats) -> Floats:
    """Along the last axis (Soria-Comas et al., Eq. (5), Del Vasto-Terrientes et al., Eq. (5)). The rounded mean of
    equal decimals would leave 1e-34 of it."""
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


def in_variances(
    error: Floats | np.floating, variance: Floats | float, rounding: Floats | float = 0.0
) -> Floats:
    """A constant attribute has no variance to measure by: any error beyond `rounding` counts as 1."""
    constant = np.asarray(variance) <= 0
    if not constant.any():
        return np.asarray(error / variance, np.float64)
    return np.asarray(
        np.where(constant, error > rounding, error / np.where(constant, 1.0, variance)), np.float64
    )


def relative_change(before: Floats, after: Floats) -> Floats:
    """A constant attribute that is constant no more counts as a change of 1."""
    constant = before <= 0
    if not constant.any():
        return np.asarray(np.abs(before - after) / before, dtype=np.float64)
    changed = np.abs(before - after) / np.where(constant, 1.0, before)
    return np.asarray(np.where(constant, after > 0, changed), dtype=np.float64)
