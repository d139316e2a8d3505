"""The compiled loop behind the totals of a long column's clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled


@compiled
def ranked_totals(
    values: NDArray[np.float64], rank: NDArray[np.int32], k: np.uint32, total: NDArray[np.float64]
) -> None:
    """Clusters of k consecutive ranks, the last takes the remainder. Record order: it is part of the result."""
    last = np.uint32(len(total) - 1)
    for i in range(len(values)):
        total[min(np.uint32(rank[i]) // k, last)] += values[i]
