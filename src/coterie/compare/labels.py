"""The exponential mechanism for many runs at once: the same labels as run by run, most of the work shared.

Ranked by category, most clusters hold one label only, so few score rows are distinct: their distribution functions are
computed once for all runs and clusters. A draw too near a boundary for double precision to decide sends its run
through `exponential_mechanism` itself, so the label is always the one that exact arithmetic chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.noise.exponential import _words as words_of
from coterie.noise.exponential import exponential_mechanism
from coterie.noise.seeded import SeededSampler

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


def draw_labels(
    scores: Floats, epsilon: Fraction, sensitivity: float, seeds: Sequence[int], name: str
) -> Codes:
    """One row of labels a seed, one column a cluster."""
    clusters, categories = scores.shape
    if categories == 1:
        return np.zeros((len(seeds), clusters), dtype=np.int32)
    samplers = [SeededSampler(seed) for seed in seeds]
    words = np.stack([words_of(sampler, clusters, name, 0) for sampler in samplers])
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    first, group = distinct_rows(scores)
    few = scores[first]
    factor = float(epsilon / (2 * Fraction(sensitivity)))
    with np.errstate(over="ignore"):  # an exponent beyond all doubles means a weight of 0, as it should
        boundaries = np.cumsum(np.exp(-factor * (few - few.min(axis=1, keepdims=True))), axis=1)
    chosen = np.empty((len(seeds), clusters), dtype=np.int32)
    doubtful = np.zeros(len(seeds), dtype=np.bool_)
    margin = categories**2 * 2.0**-45  # as derived in coterie.noise.exponential
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=len(first)))
    for start, end, above in zip(np.append(0, ends[:-1]), ends, boundaries, strict=True):
        members = order[start:end]
        inner = above[:-1]
        target = uniform[:, members] * above[-1]
        label = np.searchsorted(inner, target, side="right")
        below = np.abs(inner[np.maximum(label - 1, 0)] - target) <= margin
        beyond = np.abs(inner[np.minimum(label, categories - 2)] - target) <= margin
        doubtful |= (below | beyond).any(axis=1)
        chosen[:, members] = label
    for run in np.flatnonzero(doubtful):
        chosen[run] = exponential_mechanism(scores, epsilon, sensitivity, samplers[run], name)
    return chosen


def distinct_rows(scores: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first cluster with each distinct row, and which distinct row each cluster has."""
    bits = np.ascontiguousarray(scores).view(np.uint64)
    mixer = np.random.Generator(np.random.PCG64(1)).integers(0, 2**64, bits.shape[1], dtype=np.uint64)
    keys = (bits * (mixer | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(scores[first][group], scores):  # two rows share a key: treat every row as its own
        everyone = np.arange(len(scores))
        return everyone, everyone
    return first, group
