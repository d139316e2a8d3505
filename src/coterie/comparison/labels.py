"""The compiled loop behind the labels that the clusters of a long column draw."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.seeded import SeededSampler, Words
from coterie.chain.partition._compiled import compiled
from coterie.evaluation.clustered import LONG
from coterie.evaluation.clustered_labels import ClusteredLabels, DrawnCodes, DrawnTallies


@compiled
def count_labels(
    draws: NDArray[np.float64],
    group: NDArray[np.int64],
    upto: NDArray[np.float64],
    guide: NDArray[np.int32],
    margin: float,
    tallies: NDArray[np.int64],
) -> bool:
    """Count the label of each draw under its group's distribution. Returns whether one was too near a boundary."""
    stretches = guide.shape[1]
    last = upto.shape[1] - 1
    doubtful = False
    for cluster in range(len(draws)):
        draw, distribution = draws[cluster], group[cluster]
        label = guide[distribution, int(draw * stretches)]
        while label < last and upto[distribution, label] <= draw:
            label += 1
        if label < last and upto[distribution, label] - draw <= margin:
            doubtful = True
        if label > 0 and draw - upto[distribution, label - 1] <= margin:
            doubtful = True
        tallies[distribution, label] += 1
    return doubtful


# The exponential mechanism for many ε and runs at once: the same labels as one by one, most of the work shared.
#
# Few clusters are distinct, so few distribution functions are computed. All draws of a column are sorted once, and each
# boundary of each ε is looked up among them: not each draw among the boundaries. Where a draw is too near a boundary for
# double precision to decide, its run goes through `exponential_mechanism` itself, so the label is always the one that
# exact arithmetic chooses.

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Whole = NDArray[np.int64]
_STRETCHES = 4  # for each label


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
    gives: ClassVar = DrawnCodes

    @classmethod
    def of(cls, draws: Floats, clustered: ClusteredLabels) -> SortedDraws:
        target = (draws + clustered.group).ravel()
        order = np.argsort(target)
        unit = np.broadcast_to(clustered.group, draws.shape).ravel()[order]
        return cls(target[order], order, unit, draws.shape)

    def draw(self, clustered: ClusteredLabels, epsilon: Fraction, sensitivity: float, seed: int) -> Codes:
        """A row of labels a run, a column a cluster. Run r has the seed `seed` + r."""
        runs, clusters = self.shape
        categories = clustered.marginality.shape[1]
        inner, margin = _boundaries(clustered, epsilon, sensitivity)
        inner = (inner + np.arange(len(inner))[:, None]).ravel()
        reached = np.searchsorted(self.values, inner)  # the first draw not below each boundary
        passed = np.repeat(np.arange(len(inner) + 1), np.diff(reached, prepend=0, append=len(self.values)))
        chosen = np.empty(runs * clusters, dtype=np.int32)
        chosen[self.order] = passed - self.unit * (categories - 1)
        chosen = chosen.reshape(self.shape)
        near = np.concatenate([np.maximum(reached - 1, 0), np.minimum(reached, len(self.values) - 1)])
        doubtful = near[np.abs(self.values[near] - np.tile(inner, 2)) <= margin]
        for run in np.unique(self.order[doubtful] // clusters).tolist():
            chosen[run] = _exactly(clustered, epsilon, sensitivity, seed + run)
        return chosen


@dataclass(frozen=True)
class LongDraws:
    """The same for long columns: how many clusters of a kind draw a label is counted in one compiled loop."""

    draws: Floats  # run, cluster
    gives: ClassVar = DrawnTallies

    def draw(self, clustered: ClusteredLabels, epsilon: Fraction, sensitivity: float, seed: int) -> Whole:
        """How many clusters of each distribution draw each label, run by run."""
        from coterie.comparison.labels import count_labels

        distributions, categories = clustered.marginality.shape
        inner, margin = _boundaries(clustered, epsilon, sensitivity)
        upto = np.ones((distributions, categories))  # the last label takes what is left
        upto[:, :-1] = inner
        # For each stretch of [0, 1) the first label that a draw in it can have: few steps remain to the right one.
        stretches = _STRETCHES * categories
        starts = np.arange(stretches) / stretches
        guide = np.stack([np.searchsorted(line, starts, side="right") for line in upto]).astype(np.int32)
        tallies = np.zeros((len(self.draws), distributions, categories), dtype=np.int64)
        for run, draws in enumerate(self.draws):
            if count_labels(draws, clustered.group, upto, guide, margin, tallies[run]):
                codes = _exactly(clustered, epsilon, sensitivity, seed + run)
                each = np.bincount(clustered.group * categories + codes, minlength=distributions * categories)
                tallies[run] = each.reshape(distributions, categories)
        return tallies


def ready_draws(draws: Floats, clustered: ClusteredLabels) -> SortedDraws | LongDraws:
    """Tallies of long columns, unless they would be longer than the labels themselves."""
    if clustered.records >= LONG and clustered.marginality.size <= draws.shape[1]:
        return LongDraws(np.ascontiguousarray(draws))
    return SortedDraws.of(draws, clustered)


def _boundaries(clustered: ClusteredLabels, epsilon: Fraction, sensitivity: float) -> tuple[Floats, float]:
    """Where a draw passes from one label to the next, and how near to it doubles cannot decide."""
    scores = clustered.marginality
    distributions, categories = scores.shape
    if categories == 1:  # nothing to choose, and no sensitivity to divide by
        return np.empty((distributions, 0)), 0.0
    factor = float(epsilon / (2 * Fraction(sensitivity)))
    with np.errstate(over="ignore"):  # an exponent beyond all doubles means a weight of 0, as it should
        sums = np.cumsum(np.exp(-factor * (scores - scores.min(axis=1, keepdims=True))), axis=1)
    # The margin as derived in coterie.chain.noise.exponential, and two roundings of numbers up to that of the last unit.
    return sums[:, :-1] / sums[:, -1:], categories**2 * 2.0**-45 + (distributions + 2) * 2.0**-51


def _exactly(clustered: ClusteredLabels, epsilon: Fraction, sensitivity: float, seed: int) -> Codes:
    each, sampler = clustered.marginality[clustered.group], SeededSampler(seed)
    return exponential_mechanism(each, epsilon, sensitivity, sampler, clustered.source.attribute.name)


def distinct_rows(counts: Floats) -> tuple[Whole, Whole]:
    """The first cluster with each distinct row, and which distinct row each cluster has."""
    # As whole numbers: the bits of small doubles are nearly all zeros, and their keys would be alike.
    whole = counts.astype(np.uint64)
    mixer = np.random.Generator(np.random.PCG64(1)).integers(0, 2**64, whole.shape[1], dtype=np.uint64)
    keys = (whole * (mixer | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(counts[first][group], counts):  # two rows share a key: treat every row as its own
        everyone = np.arange(len(counts))
        return everyone, everyone
    return first, group
