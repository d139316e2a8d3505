"""What noisy numbers are made to obey again: a list must rise, counts must be positive and add up. No data are read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rising(values: Floats, weights: Floats) -> Floats:
    """The nearest list that never falls (weighted least squares, pool adjacent violators), or one for each row."""
    if values.ndim > 1:
        return np.stack([rising(row, weights) for row in values])
    from scipy.optimize import isotonic_regression  # half a second to load: only those who need it pay

    return np.asarray(isotonic_regression(values, weights=weights).x, dtype=np.float64)


def onto_counts(noisy: Floats, total: float) -> Floats:
    """The nearest list of numbers from 0 up that add up to `total` (least squares: one common amount is taken away)."""
    above = noisy - noisy.max()  # beside noise of 10^20, `total` would be lost in rounding
    falling = np.sort(above.ravel())[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(above - excess[last], 0.0), dtype=np.float64)


def with_margins(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table scaled by turns until its sums are the given ones (iterative proportional fitting)."""
    # A little mass everywhere, so that an empty line can be scaled at all.
    fitted = table + 1e-6 * np.outer(rows, columns) / rows.sum()
    for _ in range(50):
        fitted = fitted * _ratio(rows, fitted.sum(axis=1))[:, None]
        fitted = fitted * _ratio(columns, fitted.sum(axis=0))[None, :]
    return np.asarray(fitted)


def _ratio(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
