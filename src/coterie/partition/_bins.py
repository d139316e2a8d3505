"""Label the records of each bucket by rank, sorting only where a cluster boundary runs through.

Inside a bucket, equal-width bins are counted. A bin whose ranks all belong to one cluster needs no order: its
records get their label at once. Only the bins that straddle a boundary are sorted. All comparisons are on the
values themselves, with the record number to break ties: a hostile bucket costs time, never correctness, and
-0.0 equals 0.0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled, compiled_for_finite

_MOST_BINS = 1 << 16  # bin numbers are 16 bits wide
_LARGEST = np.finfo(np.float64).max
_SHORT = 24  # up to here insertion sort beats heapsort


@compiled
def label_buckets(
    ends: NDArray[np.int64],
    moved: NDArray[np.float64],
    record: NDArray[np.int32],
    bin_of: NDArray[np.uint16],
    k: int,
    labels: NDArray[np.int32],
) -> None:
    """labels[record[r]] = min(rank of r // k, q - 1), for every bucket ending at `ends[b]`.

    `bin_of` is workspace, one entry a record. The rest of it is bounded by a sixteenth of the column.
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
    inside: NDArray[np.float64],
    numbers: NDArray[np.int32],
    bin_of: NDArray[np.uint16],
    place: NDArray[np.int32],
    labels: NDArray[np.int32],
    values: NDArray[np.float64],
    records: NDArray[np.int32],
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
def _extremes(values: NDArray[np.float64]) -> tuple[float, float]:
    low = values[0]
    high = values[0]
    for v in values:
        low = min(low, v)
        high = max(high, v)
    return low, high


@compiled
def _count_bins(
    values: NDArray[np.float64],
    low: float,
    high: float,
    bins: int,
    bin_of: NDArray[np.uint16],
    count: NDArray[np.int32],
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
def _find_straddling(
    place: NDArray[np.int32],
    start: int,
    k: int,
    last: int,
    run_rank: NDArray[np.int64],
    run_end: NDArray[np.int32],
) -> int:
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
def _label_in_order(
    record: NDArray[np.int32], rank: int, k: int, last: int, labels: NDArray[np.int32]
) -> None:
    """Label records that are in rank order, the first of them having `rank`."""
    label = min(rank // k, last)
    boundary = _cluster_end(label, k, last)
    for r in range(len(record)):
        if rank + r >= boundary:
            label += 1
            boundary = _cluster_end(label, k, last)
        labels[record[r]] = label


@compiled
def _sort(values: NDArray[np.float64], records: NDArray[np.int32]) -> None:
    """By value, then by record number; the records arrive in rising record number."""
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
def _heapsort(values: NDArray[np.float64], records: NDArray[np.int32]) -> None:
    """n log n however hostile, in place; not stable, so it compares record numbers too."""
    size = len(values)
    for root in range(size // 2 - 1, -1, -1):
        _sift_down(values, records, root, size, values[root], records[root])
    for end in range(size - 1, 0, -1):
        v = values[end]
        i = records[end]
        values[end] = values[0]
        records[end] = records[0]
        _sift_down(values, records, 0, end, v, i)


@compiled
def _sift_down(
    values: NDArray[np.float64], records: NDArray[np.int32], hole: int, size: int, v: float, i: int
) -> None:
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
