"""Categories by meaning: marginality of every label in every cluster, exponential mechanism (001 §3.4, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.sampler import Sampler
from coterie.chain.partition.clustering import Clustering
from coterie.chain.sensitivity.marginality import cluster_sensitivity, list_sensitivity
from coterie.schema.taxonomy.semantics import cluster_counts, marginality, marginality_centroids
from coterie.table.columns.column import CategoryColumn, Codes, Floats


@dataclass(frozen=True, slots=True)
class Scores:
    """How many records of each cluster hold each label, and m(S_j, a) of 001 eq. (4) for every cluster and label."""

    counts: Floats
    marginality: Floats
    clusters: int  # of the whole table


@dataclass(frozen=True, slots=True)
class MarginalityCentroid:
    """The least marginal label of each cluster, as it is: no noise (001 eq. 5)."""

    stages: str = "marginality centroid · no noise"
    caution: str | None = None

    def reach(self, records: int, k: int) -> None:
        return None

    def centroids(self, column: CategoryColumn, clustering: Clustering) -> Scores:
        return _scores(column, clustering)

    def sensitivity(self, column: CategoryColumn, centroids: Scores, k: int) -> Floats:
        return np.zeros(1)

    def noise(
        self,
        column: CategoryColumn,
        centroids: Scores,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Codes:
        return marginality_centroids(centroids.counts, column.taxonomy, column.distance)

    def rows(self, column: CategoryColumn, released: Codes, place: Clustering) -> tuple[Codes, pa.Array]:
        return _rows(column, released, place)


@dataclass(frozen=True, slots=True)
class ExponentialMechanism:
    """A label drawn with odds that fall with its marginality; `spread` says how far one record moves the scores."""

    stages: str
    spread: Callable[[CategoryColumn, int], float]  # column, number of clusters → sensitivity
    caution: str | None = None

    def reach(self, records: int, k: int) -> Fraction:
        """Odds of e^(ε·k/2) between the best and the worst label of a cluster of k, where all records agree."""
        return Fraction(2, k)

    def centroids(self, column: CategoryColumn, clustering: Clustering) -> Scores:
        return _scores(column, clustering)

    def sensitivity(self, column: CategoryColumn, centroids: Scores, k: int) -> Floats:
        return np.array([self.spread(column, centroids.clusters)])

    def noise(
        self,
        column: CategoryColumn,
        centroids: Scores,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Codes:
        name = column.attribute.name
        return exponential_mechanism(centroids.marginality, epsilon, float(sensitivity[0]), sampler, name)

    def rows(self, column: CategoryColumn, released: Codes, place: Clustering) -> tuple[Codes, pa.Array]:
        return _rows(column, released, place)


def _scores(column: CategoryColumn, clustering: Clustering) -> Scores:
    counts = cluster_counts(clustering.labels, column.codes, clustering.count, len(column.distance))
    return Scores(counts, marginality(counts, column.distance), clustering.shape.clusters)


def _rows(column: CategoryColumn, released: Codes, clustering: Clustering) -> tuple[Codes, pa.Array]:
    codes: NDArray[np.int32] = released[clustering.labels]
    return codes, column.restore(codes)


PER_RECORD = ExponentialMechanism(
    "exponential mechanism on each record, Δ = δ_max",
    lambda column, clusters: cluster_sensitivity(column.distance),
)
PER_CLUSTER = ExponentialMechanism(
    "marginality · exponential mechanism, Δ = δ_max",
    lambda column, clusters: cluster_sensitivity(column.distance),
    caution="ε per cluster; one record may move many clusters, in total up to min(q, labels − 1) times ε",
)
WHOLE_LIST = ExponentialMechanism(
    "marginality · exponential mechanism, Δ = min(path length of the order, q·δ_max)",
    lambda column, clusters: list_sensitivity(column.distance, column.order, clusters),
)
EVERY_CLUSTER = ExponentialMechanism(
    "marginality · exponential mechanism, Δ = q·δ_max",
    lambda column, clusters: clusters * cluster_sensitivity(column.distance),
)
