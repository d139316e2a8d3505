"""The compiled loops of the local engine: one stream over the records, one random access to its cluster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled


@compiled
def add_up(values: NDArray[np.float64], labels: NDArray[np.int32], total: NDArray[np.float64]) -> None:
    """Record order, plain additions: the order is part of the result."""
    for i in range(len(values)):
        total[labels[i]] += values[i]


@compiled
def keep_extremes(
    values: NDArray[np.float64],
    labels: NDArray[np.int32],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Keep the smallest values of each cluster rising in `low` and the largest falling in `high`."""
    depth = low.shape[1]
    for i in range(len(values)):
        v = values[i] + 0.0  # -0.0 becomes 0.0
        c = labels[i]
        if v < low[c, depth - 1]:
            d = depth - 1
            while d > 0 and v < low[c, d - 1]:
                low[c, d] = low[c, d - 1]
                d -= 1
            low[c, d] = v
        if v > high[c, depth - 1]:
            d = depth - 1
            while d > 0 and v > high[c, d - 1]:
                high[c, d] = high[c, d - 1]
                d -= 1
            high[c, d] = v


@compiled
def give_back(
    cluster_values: NDArray[np.float64], labels: NDArray[np.int32], out: NDArray[np.float64]
) -> None:
    for i in range(len(labels)):
        out[i] = cluster_values[labels[i]]
