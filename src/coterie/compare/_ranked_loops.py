"""The compiled loops that put a long column in order and add up its clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled


@compiled
def arrange(
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    rank: NDArray[np.int32],
    ranked: NDArray[np.float64],
) -> None:
    """The place of each record in the order, and the values in it; -0.0 becomes 0.0."""
    for i in range(len(order)):
        record = np.uint64(order[i])
        rank[record] = i
        ranked[i] = values[record] + 0.0


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
