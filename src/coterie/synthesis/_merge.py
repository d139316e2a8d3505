"""The compiled loop behind Kendall's τ: a merge sort that counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled


@compiled
def exchanges(values: NDArray[np.float64]) -> int:
    """How many pairs stand in falling order (equal values do not). `values` is sorted on the way."""
    n = len(values)
    other = np.empty(n)
    count = 0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            left, right = start, middle
            for at in range(start, end):
                if right >= end or (left < middle and values[left] <= values[right]):
                    other[at] = values[left]
                    left += 1
                else:
                    other[at] = values[right]
                    right += 1
                    count += middle - left  # all that is left of the left half stood before it and is larger
        values, other = other, values
        width *= 2
    return count
