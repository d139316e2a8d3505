"""The compiled loops of the local engine: one stream over the records, one random access a record."""

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
def bring_together(
    values: NDArray[np.float64],
    labels: NDArray[np.int32],
    place: NDArray[np.int32],
    together: NDArray[np.float64],
) -> None:
    """Members of a cluster side by side, in record order, from `place` on, which moves. One random store a record.

    Smallest and largest values are then found in one stream: exchanging them in place would touch a whole line of cache a
    record, which takes more than twice as long.
    """
    for i in range(len(values)):
        c = labels[i]
        to = place[c]
        place[c] = to + 1
        together[to] = values[i]


@compiled
def keep_one(
    together: NDArray[np.float64],
    ends: NDArray[np.int32],
    total: NDArray[np.float64],
    outermost: NDArray[np.float64],
) -> None:
    """Of each cluster, ending at `ends`: the sum, the smallest and the largest value."""
    start = 0
    for c in range(len(ends)):
        added = 0.0
        low, high = np.inf, -np.inf
        for r in range(start, ends[c]):
            added += together[r]
            v = together[r] + 0.0  # -0.0 becomes 0.0
            low = min(low, v)
            high = max(high, v)
        total[c] = added
        outermost[0, c], outermost[1, c] = low, high
        start = ends[c]


@compiled
def keep_three(
    together: NDArray[np.float64],
    ends: NDArray[np.int32],
    total: NDArray[np.float64],
    outermost: NDArray[np.float64],
) -> None:
    """Of each cluster: the sum, the three smallest values, rising, then the three largest, falling.

    No branch: which value is kept is as good as random, and a wrong guess costs more than the exchange.
    """
    start = 0
    for c in range(len(ends)):
        added = 0.0
        low, low2, low3 = np.inf, np.inf, np.inf
        high, high2, high3 = -np.inf, -np.inf, -np.inf
        for r in range(start, ends[c]):
            added += together[r]
            v = together[r] + 0.0
            left, low = max(low, v), min(low, v)
            left, low2 = max(low2, left), min(low2, left)
            low3 = min(low3, left)
            left, high = min(high, v), max(high, v)
            left, high2 = min(high2, left), max(high2, left)
            high3 = max(high3, left)
        total[c] = added
        outermost[0, c], outermost[1, c], outermost[2, c] = low, low2, low3
        outermost[3, c], outermost[4, c], outermost[5, c] = high, high2, high3
        start = ends[c]


@compiled
def give_back(
    cluster_values: NDArray[np.float64], labels: NDArray[np.int32], out: NDArray[np.float64]
) -> None:
    for i in range(len(labels)):
        out[i] = cluster_values[labels[i]]
