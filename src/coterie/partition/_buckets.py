"""Spread a column over buckets of rising value, each small enough for the cache.

Random memory access is what a sort costs, so records are moved only once; `_bins` does the rest in cache. A
jittered sample gives splitters, and every (value, record number) goes to the bucket between two of them. A
value so frequent that it repeats among the splitters gets a bucket of its own. Buckets fill in record order,
so equal values stay in record order. The map from value to bucket is monotone: a bad sample costs time, never
correctness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled

_ABREAST = 16


@compiled
def sample_column(values: NDArray[np.float64], seed: int, sample: NDArray[np.float64]) -> None:
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


def search_tree(sample: NDArray[np.float64], levels: int) -> NDArray[np.float64]:
    """2**levels - 1 splitters in breadth-first order (root at 1), ready for a branch-free descent."""
    count = 2**levels - 1
    quantiles = np.sort(sample)[np.arange(1, count + 1) * len(sample) // (count + 1)]
    distinct, repeats = np.unique(quantiles + 0.0, return_counts=True)
    frequent = distinct[repeats > 1]
    # [x, next float above x) holds x alone. Above the largest float comes inf, which is right.
    with np.errstate(over="ignore"):
        splitters = np.union1d(distinct, np.nextafter(frequent, np.inf))
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
def is_constant(values: NDArray[np.float64]) -> bool:
    for v in values:  # noqa: SIM110 (a generator cannot be compiled)
        if v != values[0]:
            return False
    return True


@compiled
def distribute(
    values: NDArray[np.float64],
    tree: NDArray[np.float64],
    levels: int,
    bucket: NDArray[np.uint16],
    ends: NDArray[np.int64],
    moved: NDArray[np.float64],
    record: NDArray[np.int32],
) -> None:
    """Move (value, record number) to its bucket, in record order; `ends[b]` becomes the end of bucket b."""
    ends[:] = 0
    _choose_buckets(values, tree, levels, bucket, ends)
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
def _choose_buckets(
    values: NDArray[np.float64],
    tree: NDArray[np.float64],
    levels: int,
    bucket: NDArray[np.uint16],
    count: NDArray[np.int64],
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
