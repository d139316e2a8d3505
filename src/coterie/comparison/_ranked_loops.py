"""The compiled loops that put a long column in order and add up its clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled


@compiled
def place_in(order: NDArray[np.int64], rank: NDArray[np.int32]) -> None:
    """The place of each record in the order."""
    for i in range(len(order)):
        rank[np.uint64(order[i])] = i


@compiled
def whole_totals(ranked: NDArray[np.float64], k: int, total: NDArray[np.float64]) -> bool:
    """As `ranked_totals`, from values in order: sums of whole numbers up to 2^53 are the same in any order.

    False if some are not whole, or sums could be larger.
    """
    last = len(total) - 1
    longest = len(ranked) - last * k
    if longest * max(abs(ranked[0]), abs(ranked[-1])) >= 2.0**53:
        return False
    for cluster in range(len(total)):
        found, broken = 0.0, 0.0
        for i in range(cluster * k, (cluster + 1) * k if cluster < last else len(ranked)):
            found += ranked[i]
            broken += abs(ranked[i] - np.rint(ranked[i]))
        if broken > 0:
            return False
        total[cluster] = found
    return True


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
