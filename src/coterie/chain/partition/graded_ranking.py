"""Ranked groups that are smaller at both ends, so that rare extreme values are not averaged away.

Lemma 1 of Sánchez et al. 2016 needs sizes that follow from n and k, not equal ones. From the middle outwards groups of
k are followed by k/2, k/4, … as long as a group keeps 5k²/n records. With the public k = 2·√(n/ε_a) that is 20/ε_a, so
even the smallest group's noise has a scale of at most a twentieth of the domain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def graded_sizes(records: int, k: int) -> NDArray[np.int64]:
    """Sizes by rising value; of n and k alone."""
    ends: list[int] = []
    size = k // 2
    while size >= 1 and size * records >= 5 * k * k:
        ends.insert(0, size)
        size //= 2
    middle = records - 2 * sum(ends)
    if middle < k:
        ends, middle = [], records
    count = middle // k
    whole = [k] * (count - 1) + [middle - k * (count - 1)]
    return np.array([*ends, *whole, *reversed(ends)], dtype=np.int64)
