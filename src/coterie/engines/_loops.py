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
def keep_one(values: NDArray[np.float64], labels: NDArray[np.int32], ends: NDArray[np.float64]) -> None:
    """ends[c] = the smallest and the largest value of cluster c, side by side in one cache line."""
    for i in range(len(values)):
        v = values[i] + 0.0  # -0.0 becomes 0.0
        c = labels[i]
        low, high = ends[c, 0], ends[c, 1]
        ends[c, 0] = v if v < low else low
        ends[c, 1] = v if v > high else high


@compiled
def keep_three(values: NDArray[np.float64], labels: NDArray[np.int32], ends: NDArray[np.float64]) -> None:
    """ends[c] = the three smallest values of cluster c, rising, then the three largest, falling.

    No branch: which value is kept is as good as random, and a wrong guess costs more than the exchange. Written out,
    because a loop over three would have one.
    """
    for i in range(len(values)):
        v = values[i] + 0.0
        c = labels[i]
        first, second, third = ends[c, 0], ends[c, 1], ends[c, 2]
        ends[c, 0] = v if v < first else first
        left = v if v > first else first
        ends[c, 1] = left if left < second else second
        left = left if left > second else second
        ends[c, 2] = left if left < third else third
        first, second, third = ends[c, 3], ends[c, 4], ends[c, 5]
        ends[c, 3] = v if v > first else first
        left = v if v < first else first
        ends[c, 4] = left if left > second else second
        left = left if left < second else second
        ends[c, 5] = left if left > third else third


@compiled
def give_back(
    cluster_values: NDArray[np.float64], labels: NDArray[np.int32], out: NDArray[np.float64]
) -> None:
    for i in range(len(labels)):
        out[i] = cluster_values[labels[i]]
