"""The compiled loop behind the totals of a long column's clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled


@compiled
def ranked_totals(
    values: NDArray[np.float64], rank: NDArray[np.int32], k: int, total: NDArray[np.float64]
) -> None:
    """Clusters of k consecutive ranks, the last takes the remainder. Record order: it is part of the result."""
    last, each = len(total) - 1, 1.0 / k
    for i in range(len(values)):
        # rank // k. A half away from whole numbers, and ranks are below 2^31: no rounding crosses one.
        cluster = min(int((rank[i] + 0.5) * each), last)
        total[np.uint32(cluster)] += values[i]
