"""Compiled loops of individual ranking: spread a column over buckets, then label records by rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled, compiled_for_finite
from coterie.schema.arrays import Codes, Floats, Whole

# Spread a column over buckets of rising value, each small enough for the cache.
#
# Random memory access is what a sort costs, so records are moved only once; `label_buckets` does the rest in cache. A
# jittered sample gives splitters, and every (value, record number) goes to the bucket between two of them. A
# value so frequent that it repeats among the splitters gets a bucket of its own. Buckets fill in record order,
# so equal values stay in record order. The map from value to bucket is monotone: a bad sample costs time, never
# correctness.

_ABREAST = 16


@compiled
def sample_column(values: Floats, seed: int, sample: Floats) -> None:
    """One value from each of len(sample) equal strides, at a pseudo-random place inside the stride.

    The places decide speed only, never the result; a fresh seed (not 0) each time means that no column can be
    made to mislead them.
    """
    stride = len(values) // len(sample)
    state = np.uint64(seed)
    for s in range(len(sample)):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        sample[s] = values[s * stride + np.int64((state >> np.uint64(33)) % np.uint64(stride))]


def search_tree(sample: Floats, levels: int) -> Floats:
    """2**levels - 1 splitters in breadth-first order (root at 1), ready for a branch-free descent."""
    count = 2**levels - 1
    quantiles = np.sort(sample)[np.arange(1, count + 1) * len(sample) // (count + 1)]
    distinct, repeats = np.unique(quantiles + 0.0, return_counts=True)
    frequent = distinct[repeats > 1]
    # [x, next float above x) holds x alone. Above the largest float comes inf, which is right.
    with np.errstate(over="ignore"):
        splitters = np.union1d(distinct, np.nextafter(frequent, np.inf))
    return descending_tree(splitters, levels)


def descending_tree(splitters: Floats, levels: int) -> Floats:
    """Rising splitters, fewer than 2**levels, as a tree."""
    count = 2**levels - 1
    splitters = np.append(splitters, np.full(count - len(splitters), np.inf))
    order = np.empty(count + 1, np.int64)
    for level in range(levels):
        first = 2**level
        order[first : 2 * first] = (2 * np.arange(first) + 1) * 2 ** (levels - 1 - level) - 1
    tree = np.empty(count + 1, np.float64)
    tree[0] = np.inf
    tree[1:] = splitters[order[1:]]
    return tree


@compiled
def is_constant(values: Floats) -> bool:
    for v in values:  # noqa: SIM110 (a generator cannot be compiled)
        if v != values[0]:
            return False
    return True


@compiled
def distribute(
    values: Floats,
    tree: Floats,
    levels: int,
    bucket: NDArray[np.uint16],
    ends: Whole,
    moved: Floats,
    record: Codes,
) -> None:
    """Move (value, record number) to its bucket, in record order; `ends[b]` becomes the end of bucket b."""
    ends[:] = 0
    choose_buckets(values, tree, levels, bucket, ends)
    start = 0
    for b in range(len(ends)):
        size = ends[b]
        ends[b] = start
        start += size
    for i in range(len(values)):
        b = bucket[i]
        to = ends[b]
        ends[b] = to + 1
        moved[to] = values[i]
        record[to] = i


@compiled
def choose_buckets(
    values: Floats, tree: Floats, levels: int, bucket: NDArray[np.uint16], count: Whole
) -> None:
    """Descend the tree with sixteen records abreast: one descent waits on each comparison, sixteen do not."""
    leaves = len(tree)
    node = np.empty(_ABREAST, np.uint32)  # unsigned: no look whether an index counts from the end
    for first in range(0, len(values), _ABREAST):
        abreast = min(_ABREAST, len(values) - first)
        node[:] = 1
        if abreast == _ABREAST:
            for _ in range(levels):
                for r in range(_ABREAST):  # a fixed length, so that it becomes vector instructions
                    node[r] = 2 * node[r] + (values[first + r] >= tree[node[r]])
        else:
            for _ in range(levels):
                for r in range(abreast):
                    node[r] = 2 * node[r] + (values[first + r] >= tree[node[r]])
        for r in range(abreast):
            b = node[r] - leaves
            bucket[first + r] = b
            count[b] += 1


# Label the records of each bucket by rank, sorting only where a cluster boundary runs through.
#
# Inside a bucket, equal-width bins are counted. A bin whose ranks all belong to one cluster needs no order: its
# records get their label at once. Only the bins that straddle a boundary are sorted. All comparisons are on the
# values themselves, with the record number to break ties: a hostile bucket costs time, never correctness, and
# -0.0 equals 0.0.

_MOST_BINS = 1 << 16  # bin numbers are 16 bits wide
_LARGEST = np.finfo(np.float64).max
_SHORT = 24  # up to here insertion sort beats heapsort


@compiled
def label_buckets(
    ends: Whole, moved: Floats, record: Codes, bin_of: NDArray[np.uint16], k: int, labels: Codes
) -> None:
    """labels[record[r]] = min(rank of r // k, q - 1), for every bucket ending at `ends[b]`.

    `bin_of` is workspace, one entry per record. The rest of it is bounded by a sixteenth of the column.
    """
    place = np.empty(_MOST_BINS, np.int32)
    run_rank = np.empty(_MOST_BINS, np.int64)
    run_end = np.empty(_MOST_BINS, np.int32)
    room = min(len(labels), max(_MOST_BINS, len(labels) // 16))
    values = np.empty(room, np.float64)
    records = np.empty(room, np.int32)
    last = len(labels) // k - 1
    start = 0
    for end in ends:
        if start == end:
            continue
        inside, numbers, bins_inside = moved[start:end], record[start:end], bin_of[start:end]
        low, high = _extremes(inside)
        if low == high or min(start // k, last) == min((end - 1) // k, last):
            _label_in_order(numbers, start, k, last, labels)
        else:
            # So many bins that one record in forty or so is in a straddling one, as far as the cache allows.
            bins = min(max(40 * len(inside) // k, len(inside) // 16, 1), 2 * len(inside), _MOST_BINS)
            _count_bins(inside, low, high, bins, bins_inside, place)
            runs = _find_straddling(place[:bins], start, k, last, run_rank, run_end)
            if runs and run_end[runs - 1] > room:  # the sample misled us: sort in place
                _heapsort(inside, numbers)
                _label_in_order(numbers, start, k, last, labels)
            else:
                _label_or_collect(inside, numbers, bins_inside, place, labels, values, records)
                begin = 0
                for run in range(runs):
                    finish = run_end[run]
                    _sort(values[begin:finish], records[begin:finish])
                    _label_in_order(records[begin:finish], run_rank[run], k, last, labels)
                    begin = finish
        start = end


@compiled
def _label_or_collect(
    inside: Floats,
    numbers: Codes,
    bin_of: NDArray[np.uint16],
    place: Codes,
    labels: Codes,
    values: Floats,
    records: Codes,
) -> None:
    """Label the records of plain bins; collect those of straddling bins side by side, in record order."""
    for r in range(len(inside)):
        to = place[bin_of[r]]
        if to >= 0:
            labels[numbers[r]] = to
        else:
            place[bin_of[r]] = to - 1
            values[-1 - to] = inside[r]
            records[-1 - to] = numbers[r]


@compiled_for_finite
def _extremes(values: Floats) -> tuple[float, float]:
    low = values[0]
    high = values[0]
    for v in values:
        low = min(low, v)
        high = max(high, v)
    return low, high


@compiled
def _count_bins(
    values: Floats, low: float, high: float, bins: int, bin_of: NDArray[np.uint16], count: Codes
) -> None:
    span = high - low
    if span > _LARGEST:  # it overflowed: let all negative values share the first bin
        low = 0.0
        span = high
    # A denormal span would give an infinite scale, and 0 * inf is not a number.
    scale = min(bins / span, _LARGEST)
    count[:bins] = 0
    for r in range(len(values)):
        b = max(min(int((values[r] - low) * scale), bins - 1), 0)
        bin_of[r] = b
        count[b] += 1


@compiled
def _find_straddling(place: Codes, start: int, k: int, last: int, run_rank: Whole, run_end: Codes) -> int:
    """Turn each bin's count into its label or, where it straddles, into -1 - its first slot."""
    runs = 0
    taken = 0
    rank = start
    label = min(start // k, last)
    boundary = _cluster_end(label, k, last)
    for b in range(len(place)):
        count = place[b]
        rank += count
        if rank <= boundary:
            place[b] = label
        else:
            place[b] = -1 - taken
            taken += count
            run_rank[runs] = rank - count
            run_end[runs] = taken
            runs += 1
        if rank >= boundary:
            label = min(rank // k, last)
            boundary = _cluster_end(label, k, last)
    return runs


@compiled
def _cluster_end(label: int, k: int, last: int) -> int:
    """The rank after the cluster's last; the last cluster takes all that remain."""
    return (label + 1) * k if label < last else np.iinfo(np.int64).max


@compiled
def _label_in_order(record: Codes, rank: int, k: int, last: int, labels: Codes) -> None:
    """Label records that are in rank order, the first of them having `rank`."""
    label = min(rank // k, last)
    boundary = _cluster_end(label, k, last)
    for r in range(len(record)):
        if rank + r >= boundary:
            label += 1
            boundary = _cluster_end(label, k, last)
        labels[record[r]] = label


@compiled
def _sort(values: Floats, records: Codes) -> None:
    """Sort by value, then by record number. The records arrive in rising record number."""
    size = len(values)
    if size > _SHORT:
        low, high = _extremes(values)
        if low != high:
            _heapsort(values, records)
        return
    for r in range(1, size):
        v = values[r]
        i = records[r]
        s = r
        while s > 0 and values[s - 1] > v:
            values[s] = values[s - 1]
            records[s] = records[s - 1]
            s -= 1
        values[s] = v
        records[s] = i


@compiled
def _heapsort(values: Floats, records: Codes) -> None:
    """n log n however hostile, in place; not stable, so it compares record numbers too."""
    size = len(values)
    for root in range(size // 2 - 1, -1, -1):
        sift_down(values, records, root, size, values[root], records[root])
    for end in range(size - 1, 0, -1):
        v = values[end]
        i = records[end]
        values[end] = values[0]
        records[end] = records[0]
        sift_down(values, records, 0, end, v, i)


@compiled
def sift_down(values: Floats, records: Codes, hole: int, size: int, v: float, i: int) -> None:
    """Let the hole sink until (v, i) fits into it."""
    child = 2 * hole + 1
    while child < size:
        if child + 1 < size and _before(values[child], records[child], values[child + 1], records[child + 1]):
            child += 1
        if not _before(v, i, values[child], records[child]):
            break
        values[hole] = values[child]
        records[hole] = records[child]
        hole = child
        child = 2 * hole + 1
    values[hole] = v
    records[hole] = i


@compiled
def _before(v: float, i: int, w: float, j: int) -> bool:
    return v < w or (v == w and i < j)
