"""Groups along one attribute: individual ranking, and the optimal groups of k to 2k-1."""

from __future__ import annotations

import secrets
import threading

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition import _ranking_loops as loops
from coterie.chain.partition._compiled import compiled, for_reading
from coterie.chain.partition._mdav_index import check_group_size, check_points
from coterie.chain.partition.clustering import Clustering
from coterie.errors import DataError, ParameterError
from coterie.schema.arrays import Codes, Floats, Whole
from coterie.table.memory_limit import room_for

# Individual ranking: sort one attribute and cut the order into clusters of k (Sánchez et al. 2016, section 3).
#
# floor(n / k) clusters of consecutive values; the last takes the remainder: sizes k, …, k, k + n mod k. Ties
# are broken by record order, which makes the clustering a function of the table and nothing else.

_PLAIN_BELOW = 50_000  # NumPy's own stable sort is as quick up to here, and needs no compiled code
_BUCKET = 2**15  # most records aimed at a bucket: their values, numbers and bins fit into a level-2 cache
_MOST_LEVELS = 11  # with more than 2048 open buckets, their cache lines evict one another
_SAMPLES_PER_BUCKET = 16
_MOST_RECORDS = 2**31 - 1

_workspace = threading.local()


def individual_ranking(values: Floats, k: int) -> Clustering:
    """Clusters of k consecutive values, numbered by rising value. The values must be finite."""
    n = len(values)
    if k < 1:
        raise ParameterError(f"k = {k} is not a cluster size.", "Choose k of at least 1.")
    if n < k:
        raise ParameterError(
            f"{n} records cannot form a cluster of k = {k}.", f"Choose k of at most {n}, or add records."
        )
    if n > _MOST_RECORDS:
        raise ParameterError(
            f"{n} records are more than one machine's engine takes.", "Use the distributed engine."
        )
    labels = _by_plain_sort(values, k) if n < _PLAIN_BELOW else _by_buckets(values, k)
    return Clustering(labels, equal_cut(n, k))


def ranks(values: Floats) -> Codes:
    """The place of each record in the order: what every k and every size of groups is cut from."""
    return individual_ranking(values, 1).labels


def cut(ranks: Codes, sizes: Whole) -> Clustering:
    """Consecutive records in groups of the given sizes."""
    if (sizes[:-1] == sizes[0]).all() and sizes[-1] >= sizes[0]:  # a division is quicker than a random access
        return Clustering(np.minimum(ranks // np.int32(sizes[0]), np.int32(len(sizes) - 1)), sizes)
    return Clustering(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[ranks], sizes)


def equal_cut(records: int, k: int) -> Whole:
    """⌊n/k⌋ clusters of k, the last takes the remainder."""
    sizes = np.full(records // k, k, dtype=np.int64)
    sizes[-1] += records % k
    return sizes


def _by_plain_sort(values: Floats, k: int) -> Codes:
    n = len(values)
    labels = np.empty(n, dtype=np.int32)
    labels[np.argsort(values, kind="stable")] = _in_record_order(n, k)  # to NumPy too, -0.0 equals 0.0
    return labels


def _in_record_order(n: int, k: int) -> Codes:
    """The labels of a column that is sorted already."""
    labels = np.empty(n, dtype=np.int32)
    whole = n // k * k
    labels[:whole].reshape(-1, k)[:] = np.arange(n // k, dtype=np.int32)[:, np.newaxis]
    labels[whole:] = n // k - 1
    return labels


def _by_buckets(values: Floats, k: int) -> Codes:
    n = len(values)
    values = for_reading(values)
    levels = min(max((n // _BUCKET).bit_length(), 1), _MOST_LEVELS)
    sample = np.empty(min(_SAMPLES_PER_BUCKET << levels, n))
    loops.sample_column(values, secrets.randbits(62) + 1, sample)
    if sample.min() == sample.max() and loops.is_constant(values):
        return _in_record_order(n, k)
    tree = loops.search_tree(sample, levels)
    bucket, moved, record = _borrow(n)
    ends = np.empty(len(tree), dtype=np.int64)
    loops.distribute(values, tree, levels, bucket, ends, moved, record)
    labels = room_for(n, np.int32)
    loops.label_buckets(ends, moved, record, bucket, k, labels)
    return labels


def _borrow(n: int) -> tuple[NDArray[np.uint16], Floats, Codes]:
    """This thread's workspace, 14 bytes per record, kept from column to column.

    Fresh memory is mapped page by page on first touch, which takes as long as the work itself.
    """
    kept: NDArray[np.uint8] | None = getattr(_workspace, "memory", None)
    if kept is None or not 14 * n <= len(kept) <= 56 * n:
        _workspace.memory = None
        kept = _workspace.memory = room_for(14 * n, np.uint8)
    moved = kept[: 8 * n].view(np.float64)
    record = kept[8 * n : 12 * n].view(np.int32)
    bucket = kept[12 * n : 14 * n].view(np.uint16)
    return bucket, moved, record


# Optimal univariate microaggregation (Hansen and Mukherjee, 2003): least SSE with at least k in every group.
#
# On one attribute the best groups are runs of sorted values (Sánchez et al. 2016, §2.3) of k … 2k-1 records, because a
# run of 2k or more can be cut in two without raising the SSE. So a shortest path over the sorted values finds them:
#
# cost(j) = min over sizes s = k … 2k-1 of cost(j - s) + SSE(the s values before j)
#
# Equal costs take the smallest last group. The promise is that of equal-size ranking, at least k records per
# group, and no more: here the group sizes depend on the data too, and there are at most ⌊n/k⌋ groups.

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
        raise DataError("The values are not one column.", "Give the values of one attribute, one per record.")
    column = check_points(column[:, None], "values")[:, 0]
    k = check_group_size(k, len(column))
    order = np.argsort(column, kind="stable")
    labels, sizes = _label(order, _last_group_sizes(column[order], k))
    return Clustering(labels, sizes)
