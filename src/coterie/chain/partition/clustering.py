"""Clusters: which cluster each record is in, what is known of each cluster, and its centroid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from coterie.schema.arrays import Codes, Floats, Whole

# The frozen value that every partition returns: which cluster each record is in, and of how many clusters in all.


@dataclass(frozen=True, slots=True)
class Shape:
    """What is public about a clustering: numbers that follow from n and k."""

    records: int
    clusters: int
    smallest: int
    largest: int

    @classmethod
    def of(cls, sizes: Whole) -> Shape:
        return cls(int(sizes.sum()), len(sizes), int(sizes.min()), int(sizes.max()))

    @classmethod
    def ranked(cls, records: int, k: int) -> Shape:
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
    whole: Shape | None = None

    @property
    def shape(self) -> Shape:
        return self.whole or Shape.of(self.sizes)

    @property
    def count(self) -> int:
        """q, the number of clusters."""
        return len(self.sizes)


# What a centroid and its sensitivity need to know of each cluster: size, sum and the outermost values.


@dataclass(frozen=True, slots=True)
class Summary:
    """Row c describes cluster c. `low` holds its smallest values, rising; `high` its largest, falling; 0, 1 or 3 of each.

    `total` is defined to the last bit: plain double addition in record order, whatever the engine. An extreme that is
    zero is +0.0.
    """

    size: Whole
    total: Floats
    low: Floats
    high: Floats
    whole: Shape | None = None  # of the clustering that these clusters are a piece of

    @property
    def shape(self) -> Shape:
        return self.whole or Shape.of(self.size)


# Clusters → centroids: the mean, and the mean after the pre-processing of Soria-Comas et al., §3.2.2.


def mean(summary: Summary) -> Floats:
    """Soria-Comas et al., §3.1: the arithmetic mean of the cluster."""
    return summary.total / summary.size


def trimmed_mean(summary: Summary) -> Floats:
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


class Ranking(Protocol):
    """How an engine ranks: records go in, in record order; whole clusters come out, rising.

    Clusters are cut from the order of (key, record number), k at a time, the last with the remainder. A piece holds
    whole clusters, so that a cluster's statistics are added up in record order by one worker, to the last bit the same
    whatever the engine. (On Spark the pieces stay where they are, and the work is sent to them:
    coterie.engines.spark.sorting.)
    """

    def add(self, values: NDArray[Any]) -> None:
        """Further records: a structure with the field "key" and whatever travels with it."""
        ...

    def pieces(self) -> Iterator[Piece]: ...
