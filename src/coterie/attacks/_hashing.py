"""Group numbers as unrelated 64-bit words, so that sums of them stand for sets and rows of groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


def mixed(values: NDArray[np.int64] | Words, salt: int) -> Words:
    """SplitMix64's finaliser: equal stays equal, different becomes unrelated; a collision has odds of n²/2^65."""
    words = values.astype(np.uint64) + np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
