"""Optimal univariate microaggregation (Hansen and Mukherjee, 2003): least SSE with at least k in every group.

On one attribute the best groups are runs of sorted values (Sánchez et al. 2016, §2.3) of k … 2k-1 records, because a
run of 2k or more can be cut in two without raising the SSE. So a shortest path over the sorted values finds them:

    cost(j) = min over sizes s = k … 2k-1 of cost(j - s) + SSE(the s values before j)

Equal costs take the smallest last group. The promise is that of equal-size ranking, at least k records a
group, and no more: here the group sizes depend on the data too, and there are at most ⌊n/k⌋ groups.
"""

from __future__ import annotations

import numpy as np

from coterie.chain.partition._compiled import compiled
from coterie.chain.partition._mdav_places import check_group_size, check_points
from coterie.chain.partition.clustering import Clustering
from coterie.errors import DataError
from coterie.schema.arrays import Codes, Floats, Whole

_REBASE_EVERY = 64


@compiled
def _last_group_sizes(values: Floats, k: int) -> Codes:
    """For every prefix of the sorted values, the size of the last group in its best partition (0: none)."""
    n = len(values)
    sizes = np.zeros(n + 1, np.int32)
    inverse = np.zeros(2 * k)
    for s in range(1, 2 * k):
        inverse[s] = 1.0 / s
    ring = np.full(2 * k, np.inf)  # cost of the last 2k prefixes; older ones are out of reach
    ring[0] = 0.0
    for j in range(1, n + 1):
        # Sums relative to the last value: SSE = S2 - S1²/s loses at most a factor s of precision, while
        # prefix sums over the column would drown a dense group's SSE (n = 10⁷: gaps of 10⁻⁷ σ).
        anchor = values[j - 1]
        first = 0.0
        second = 0.0
        limit = min(j, 2 * k - 1)
        for s in range(1, min(k, limit + 1)):
            gap = anchor - values[j - s]
            first += gap
            second += gap * gap
        best = np.inf
        best_size = 0
        at = (j - k) % (2 * k)
        for s in range(k, limit + 1):
            gap = anchor - values[j - s]
            first += gap
            second += gap * gap
            cost = ring[at] + max(second - first * first * inverse[s], 0.0)
            if cost < best:
                best = cost
                best_size = s
            at = at - 1 if at > 0 else 2 * k - 1
        ring[j % (2 * k)] = best
        sizes[j] = best_size
        if j % _REBASE_EVERY == 0 and j >= 2 * k:
            # Only differences count. Without this, a far outlier's SSE would swamp those of all later groups.
            ring -= ring.min()
    return sizes


@compiled
def _label(order: Whole, last: Codes) -> tuple[Codes, Whole]:
    groups = 0
    j = len(order)
    while j > 0:
        groups += 1
        j -= last[j]
    labels = np.empty(len(order), np.int32)
    sizes = np.empty(groups, np.int64)
    j = len(order)
    for group in range(groups - 1, -1, -1):
        sizes[group] = last[j]
        for position in range(j - last[j], j):
            labels[order[position]] = group
        j -= last[j]
    return labels, sizes


def optimal_univariate(values: Floats, k: int) -> Clustering:
    """The partition of one attribute into groups of k … 2k-1 with the least sum of squared errors.

    Groups are numbered by rising value; equal values stay in record order. O(n·k) time, after sorting.
    """
    column = np.asarray(values)
    if column.ndim != 1:
        raise DataError("The values are not one column.", "Give the values of one attribute, one a record.")
    column = check_points(column[:, None], "values")[:, 0]
    k = check_group_size(k, len(column))
    order = np.argsort(column, kind="stable")
    labels, sizes = _label(order, _last_group_sizes(column[order], k))
    return Clustering(labels, sizes)
