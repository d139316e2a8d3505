"""Clusters: which cluster each record is in, what is known of each cluster, its centroid, and that back on its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled, for_reading
from coterie.errors import ParameterError
from coterie.schema.arrays import Codes, Floats, Whole
from coterie.table.checked import as_arrow
from coterie.table.memory_limit import room_for

# The frozen value that every partition returns: which cluster each record is in, and of how many clusters in all.


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """What is public about a clustering: numbers that follow from n and k."""

    records: int
    clusters: int
    smallest: int
    largest: int

    @classmethod
    def of(cls, sizes: Whole) -> ClusterShape:
        return cls(int(sizes.sum()), len(sizes), int(sizes.min()), int(sizes.max()))

    @classmethod
    def ranked(cls, records: int, k: int) -> ClusterShape:
        """⌊n/k⌋ clusters of k, the last takes the remainder."""
        clusters = records // k
        return cls(records, clusters, k if clusters > 1 else records, k + records % k)


@dataclass(frozen=True, slots=True)
class Clustering:
    """Cluster numbers 0 … q-1 in record order, and how many members each cluster has.

    Partitions of one ordered attribute number their clusters by rising value. An engine that holds only some of the
    clusters numbers these from 0 and says in `whole` what they are a piece of.
    """

    labels: Codes
    sizes: Whole
    whole: ClusterShape | None = None
    alone: bool = (
        False  # every record is its own cluster, in record order: there is nothing to add up or to look up
    )

    @classmethod
    def of_each(cls, records: int, whole: ClusterShape | None = None) -> Clustering:
        """Every record by itself."""
        sizes = np.broadcast_to(np.int64(1), records)
        return cls(
            np.arange(records, dtype=np.int32), sizes, whole or ClusterShape(records, records, 1, 1), True
        )

    @property
    def shape(self) -> ClusterShape:
        return self.whole or ClusterShape.of(self.sizes)

    @property
    def count(self) -> int:
        """q, the number of clusters."""
        return len(self.sizes)


# What a centroid and its sensitivity need to know of each cluster: size, sum and the outermost values.


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """Row c describes cluster c. `low` holds its smallest values, rising; `high` its largest, falling; 0, 1 or 3 of each.

    `total` is defined to the last bit: plain double addition in record order, whatever the engine. An extreme that is
    zero is +0.0.
    """

    size: Whole
    total: Floats
    low: Floats
    high: Floats
    whole: ClusterShape | None = None  # of the clustering that these clusters are a piece of

    @property
    def shape(self) -> ClusterShape:
        return self.whole or ClusterShape.of(self.size)


# Clusters → centroids: the mean, and the mean after the pre-processing of Soria-Comas et al., §3.2.2.


def mean(summary: ClusterSummary) -> Floats:
    """Soria-Comas et al., §3.1: the arithmetic mean of the cluster."""
    if summary.whole is not None and summary.whole.largest == 1:
        return summary.total
    return summary.total / summary.size


def trimmed_mean(summary: ClusterSummary) -> Floats:
    """Soria-Comas et al., §3.2.2: the mean once the smallest value is replaced by the second smallest, the largest by
    the second largest."""
    replaced = summary.low[:, 1] - summary.low[:, 0] + summary.high[:, 1] - summary.high[:, 0]
    return (summary.total + replaced) / summary.size


# What engines hand to the chain: some whole clusters, with all their records. In memory, all clusters are one piece.


@dataclass(frozen=True, slots=True)
class Piece:
    """Clusters first, first + 1, …; labels count from 0. Records are in record order, `rows` are their numbers."""

    first: int
    clustering: Clustering
    rows: Whole
    fields: Mapping[str, NDArray[Any]]  # what was handed in with each record, and the key


# Columns in memory, summed up cluster by cluster and given back to their records. Each verb takes one column and holds no
# lock: columns can run in threads. Compiled loops take one stream over the records and one random access per record; short
# columns go through NumPy.


@compiled
def bring_together(values: Floats, labels: Codes, place: Codes, together: Floats) -> None:
    """Members of a cluster side by side, in record order, from `place` on, which moves. One random store per record.

    Smallest and largest values are then found in one stream: exchanging them in place would touch a whole line of cache a
    record, which takes more than twice as long.
    """
    for i in range(len(values)):
        c = labels[i]
        to = place[c]
        place[c] = to + 1
        together[to] = values[i]


@compiled
def keep_outermost(together: Floats, ends: Codes, depth: int, total: Floats, outermost: Floats) -> None:
    """Of each cluster: the sum, its `depth` smallest values (1 or 3), rising, then as many of the largest, falling.

    No branch: which value is kept is as good as random, and a wrong guess costs more than the exchange.
    """
    start = 0
    for c in range(len(ends)):
        added = 0.0
        low, low2, low3 = np.inf, np.inf, np.inf
        high, high2, high3 = -np.inf, -np.inf, -np.inf
        for r in range(start, ends[c]):
            added += together[r]
            v = together[r] + 0.0  # -0.0 becomes 0.0
            left, low = max(low, v), min(low, v)
            left, low2 = max(low2, left), min(low2, left)
            low3 = min(low3, left)
            left, high = min(high, v), max(high, v)
            left, high2 = min(high2, left), max(high2, left)
            high3 = max(high3, left)
        total[c] = added
        outermost[0, c], outermost[depth, c] = low, high
        if depth == 3:
            outermost[1, c], outermost[2, c] = low2, low3
            outermost[4, c], outermost[5, c] = high2, high3
        start = ends[c]


DEPTHS = (0, 1, 3)
_PIECE = 1 << 16  # records at a time: NumPy adds under numbers of eight bytes, which are a copy
_PLAIN_BELOW = 50_000  # up to here NumPy alone is quick enough, and loading compiled code would take longer


def summarise(values: Floats, clustering: Clustering, depth: int) -> ClusterSummary:
    """Sum of each cluster, and its `depth` smallest and largest values (0, 1 or 3)."""
    if depth not in DEPTHS:
        raise ParameterError(f"A summary of depth {depth} does not exist.", "Choose depth 0, 1 or 3.")
    if clustering.sizes.min() < depth:
        raise ParameterError(
            f"The {depth} smallest values of a cluster need {depth} records in every cluster.",
            f"Choose k of at least {depth}.",
        )
    if len(values) != len(clustering.labels):
        raise ParameterError(
            f"{len(values)} values do not fit a clustering of {len(clustering.labels)} records.",
            "Summarise the column with a clustering of the same table.",
        )
    if clustering.alone and not depth:
        none = np.empty((len(values), 0))
        return ClusterSummary(clustering.sizes, values + 0.0, none, none, clustering.whole)
    if not depth or len(values) < _PLAIN_BELOW:
        return _summarise_plainly(values, clustering, depth)
    q = clustering.count
    total = np.zeros(q)
    column, labels = for_reading(values), for_reading(clustering.labels)
    ends = np.cumsum(clustering.sizes, dtype=np.int32)
    together = room_for(len(values), np.float64)
    bring_together(column, labels, ends - clustering.sizes.astype(np.int32), together)
    outermost = np.empty((2 * depth, q))
    keep_outermost(together, ends, depth, total, outermost)
    return ClusterSummary(clustering.sizes, total, outermost[:depth].T, outermost[depth:].T, clustering.whole)


def by_cluster(values: Floats, clustering: Clustering) -> Floats:
    """Values cluster by cluster, rising inside each; -0.0 becomes 0.0."""
    order = np.argsort(values)
    # Labels of sixteen bits are counted instead of compared.
    labels = clustering.labels[order].astype(np.min_scalar_type(clustering.count), copy=False)
    return values[order[np.argsort(labels, kind="stable")]] + 0.0


def attach(cluster_values: Floats, clustering: Clustering) -> Floats:
    """Give every record the value of its cluster."""
    if len(cluster_values) != clustering.count:
        raise ParameterError(
            f"{len(cluster_values)} values do not fit {clustering.count} clusters.",
            "Give one value for every cluster.",
        )
    if clustering.alone:
        return cluster_values
    # NumPy would first make a copy of the labels, eight bytes each.
    found = as_arrow(cluster_values).take(as_arrow(clustering.labels))
    return np.asarray(np.from_dlpack(found))


def _summarise_plainly(values: Floats, clustering: Clustering, depth: int) -> ClusterSummary:
    labels, sizes, q = clustering.labels, clustering.sizes, clustering.count
    total = np.zeros(q)
    for first in range(0, len(values), _PIECE):
        piece = slice(first, first + _PIECE)
        # In record order, one double at a time: the same bits as the compiled loop.
        np.add.at(total, labels[piece].astype(np.intp), values[piece])
    ordered = by_cluster(values, clustering) if depth else values
    ends = np.cumsum(sizes)
    low = np.empty((q, depth))
    high = np.empty((q, depth))
    for d in range(depth):
        low[:, d] = ordered[ends - sizes + d]
        high[:, d] = ordered[ends - 1 - d]
    return ClusterSummary(sizes, total, low, high, clustering.whole)
