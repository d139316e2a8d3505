"""The sum of the records that are left, carried as an unevaluated pair of doubles.

Taking a million records away from a plain sum drifts; a pair (high, low) keeps about 106 bits (Knuth's
two-sum), so the centroid is the rounded exact mean for all but contrived tables, at any step, and does not
depend on how many records were taken away before.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True, inline="always")
def _two_sum(a: float, b: float) -> tuple[float, float]:
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


@numba.njit(cache=True, nogil=True)
def add_row(sums: NDArray[np.float64], row: NDArray[np.float64], sign: float) -> None:
    """sums[0] + sums[1] += sign · row; sums[0] stays the rounded total."""
    for j in range(len(row)):
        high, error = _two_sum(sums[0, j], sign * row[j])
        low, lost = _two_sum(sums[1, j], error)
        high, error = _two_sum(high, low)
        sums[0, j] = high
        sums[1, j] = error + lost


@numba.njit(cache=True, nogil=True)
def sum_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.zeros((2, rows.shape[1]))
    for i in range(len(rows)):
        add_row(sums, rows[i], 1.0)
    return sums
