"""What every partition of numbers must be given: enough records, and finite numbers of a sane size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError, ParameterError

LARGEST_COORDINATE = 1e150  # above it a squared distance may overflow and distances stop being comparable


def check_group_size(k: int, records: int) -> int:
    """k as a plain int, if groups of at least k can be made at all."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise ParameterError("k is not a whole number.", "Give k as an integer such as 10.")
    if k < 1:
        raise ParameterError("k must be at least 1.", "Choose how many records every group must have.")
    if records < k:
        raise ParameterError(
            f"k = {k} is larger than the number of records.",
            "Choose a smaller k, or protect more records together.",
        )
    return int(k)


def check_points(
    points: NDArray[np.float64], what: str = "points", fewest_columns: int = 1
) -> NDArray[np.float64]:
    """The matrix as contiguous doubles; one row a record, one column an attribute."""
    matrix = np.asarray(points)
    if matrix.ndim != 2:
        raise DataError(
            f"The {what} have {matrix.ndim} dimensions, not 2.",
            "Give one row for each record and one column for each attribute.",
        )
    if matrix.shape[1] < fewest_columns:
        raise DataError(f"The {what} have no attribute.", "Name at least one attribute to group by.")
    if matrix.dtype.kind not in "fiu":
        raise DataError(f"The {what} are not numbers.", "Encode categories as numbers or codes first.")
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    bad = np.count_nonzero(~(np.abs(matrix) <= LARGEST_COORDINATE).all(axis=1))
    if bad:
        raise DataError(
            f"{bad} records have a missing, infinite or enormous value.",
            "Treat missing values first and standardise the attributes.",
        )
    return matrix + 0.0  # -0.0 becomes 0.0: equal values must also be equal bit by bit
