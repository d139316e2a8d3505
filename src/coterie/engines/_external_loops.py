"""The compiled loop of the external sort: which bucket a record belongs to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled


@compiled
def choose_buckets(
    keys: NDArray[np.float64],
    first_row: int,
    split_keys: NDArray[np.float64],
    split_rows: NDArray[np.int64],
    bucket: NDArray[np.uint16],
) -> None:
    """bucket[i] = how many splitters are not above (key, record number): a value that most records share is split too."""
    for i in range(len(keys)):
        key = keys[i]
        row = first_row + i
        low, high = 0, len(split_keys)
        while low < high:
            middle = (low + high) // 2
            if split_keys[middle] < key or (split_keys[middle] == key and split_rows[middle] <= row):
                low = middle + 1
            else:
                high = middle
        bucket[i] = low
