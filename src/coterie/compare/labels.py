"""The exponential mechanism for many ε and runs at once: the same labels as one by one, most of the work shared.

Few clusters are distinct, so few distribution functions are computed. All draws of a column are sorted once, and each
boundary of each ε is looked up among them: not each draw among the boundaries. Where a draw is too near a boundary for
double precision to decide, its run goes through `exponential_mechanism` itself, so the label is always the one that
exact arithmetic chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.noise.exponential import exponential_mechanism
from coterie.noise.seeded import SeededSampler, Words
from coterie.utility.clustered import ClusteredLabels

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Whole = NDArray[np.int64]


def stream_of(name: str) -> str:
    """Where `exponential_mechanism` takes the first word of every cluster from."""
    return f"{name}: exponential mechanism, word 0"


def uniform(words: Words) -> Floats:
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class SortedDraws:
    """One uniform number a run and cluster, each in the unit of its cluster's distribution: number 3 from 3 to 4."""

    values: Floats
    order: Whole  # run · clusters + cluster
    unit: Whole
    shape: tuple[int, int]  # runs, clusters

    @classmethod
    def of(cls, draws: Floats, group: Whole) -> SortedDraws:
        target = (draws + group).ravel()
        order = np.argsort(target)
        unit = np.broadcast_to(group, draws.shape).ravel()[order]
        return cls(target[order], order, unit, draws.shape)


def draw_labels(
    clustered: ClusteredLabels, epsilon: Fraction, sensitivity: float, draws: SortedDraws, seed: int
) -> Codes:
    """A row of labels a run, a column a cluster. Run r has the seed `seed` + r."""
    scores = clustered.marginality
    distributions, categories = scores.shape
    runs, clusters = draws.shape
    if categories == 1:
        return np.zeros(draws.shape, dtype=np.int32)
    factor = float(epsilon / (2 * Fraction(sensitivity)))
    with np.errstate(over="ignore"):  # an exponent beyond all doubles means a weight of 0, as it should
        sums = np.cumsum(np.exp(-factor * (scores - scores.min(axis=1, keepdims=True))), axis=1)
    inner = (sums[:, :-1] / sums[:, -1:] + np.arange(distributions)[:, None]).ravel()
    reached = np.searchsorted(draws.values, inner)  # the first draw not below each boundary
    passed = np.repeat(np.arange(len(inner) + 1), np.diff(reached, prepend=0, append=len(draws.values)))
    chosen = np.empty(runs * clusters, dtype=np.int32)
    chosen[draws.order] = passed - draws.unit * (categories - 1)
    chosen = chosen.reshape(draws.shape)
    # As derived in coterie.noise.exponential, and two roundings of numbers up to that of the last unit.
    margin = categories**2 * 2.0**-45 + (distributions + 2) * 2.0**-51
    last = len(draws.values) - 1
    near = np.concatenate([np.maximum(reached - 1, 0), np.minimum(reached, last)])
    doubtful = near[np.abs(draws.values[near] - np.tile(inner, 2)) <= margin]
    for run in np.unique(draws.order[doubtful] // clusters):
        each, sampler = scores[clustered.group], SeededSampler(seed + int(run))
        name = clustered.source.attribute.name
        chosen[run] = exponential_mechanism(each, epsilon, sensitivity, sampler, name)
    return chosen


def distinct_rows(counts: Floats) -> tuple[Whole, Whole]:
    """The first cluster with each distinct row, and which distinct row each cluster has."""
    bits = np.ascontiguousarray(counts).view(np.uint64)
    mixer = np.random.Generator(np.random.PCG64(1)).integers(0, 2**64, bits.shape[1], dtype=np.uint64)
    keys = (bits * (mixer | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(counts[first][group], counts):  # two rows share a key: treat every row as its own
        everyone = np.arange(len(counts))
        return everyone, everyone
    return first, group
