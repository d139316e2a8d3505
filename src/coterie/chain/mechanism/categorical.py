"""Categories: by meaning (marginality and exponential mechanism) or by rank (as numbers along an order)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from coterie.chain.mechanism import Mechanism
from coterie.chain.mechanism.numeric import Centroids, LaplaceOnCentroids
from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.sampler import Sampler
from coterie.chain.partition.clustering import Clustering
from coterie.chain.sensitivity import cluster_sensitivity, list_sensitivity
from coterie.chain.synthesis.marginal import Steps
from coterie.schema.arrays import Codes, Floats, Whole
from coterie.schema.attributes import Domain
from coterie.schema.taxonomy.semantics import cluster_counts, decode, marginality, marginality_centroids
from coterie.table.columns.column import CategoryColumn, NumericColumn

# Categories by meaning: marginality of every label in every cluster, exponential mechanism (Sánchez et al. 2016,
# §3.4, Algorithm 2).


@dataclass(frozen=True, slots=True)
class LabelScores:
    """How many records of each cluster hold each label, and m(S_j, a) of Sánchez et al. 2016, eq. (4) for every
    cluster and label.

    Neighbouring clusters that hold the same labels share a line: ranked by category, most clusters hold one label only.
    """

    counts: Floats
    line: Whole  # of each cluster
    marginality: Floats
    clusters: int  # of the whole table


@dataclass(frozen=True, slots=True)
class MarginalityCentroid(Mechanism):
    """The least marginal label of each cluster, as it is: no noise (Sánchez et al. 2016, eq. 5)."""

    stages: str = "marginality centroid · no noise"
    many_runs: ClassVar[bool] = True

    def centroids(self, column: CategoryColumn, clustering: Clustering) -> LabelScores:
        return _scores(column, clustering)

    def sensitivity(self, column: CategoryColumn, centroids: LabelScores, k: int) -> Floats:
        return np.zeros(1)

    def noise(
        self,
        column: CategoryColumn,
        centroids: LabelScores,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Codes:
        return marginality_centroids(centroids.counts, column.taxonomy, column.distance)[centroids.line]


@dataclass(frozen=True, slots=True)
class ExponentialMechanism(Mechanism):
    """A label drawn with odds that fall with its marginality; `spread` says how far one record moves the scores."""

    stages: str = field()
    spread: Callable[[CategoryColumn, int], float]  # column, number of clusters → sensitivity
    caution: str | None = None
    many_runs: ClassVar[bool] = True

    def reach(self, records: int, k: int) -> Fraction:
        """Odds of e^(ε·k/2) between the best and the worst label of a cluster of k, where all records agree."""
        return Fraction(2, k)

    def centroids(self, column: CategoryColumn, clustering: Clustering) -> LabelScores:
        return _scores(column, clustering)

    def sensitivity(self, column: CategoryColumn, centroids: LabelScores, k: int) -> Floats:
        return np.array([self.spread(column, centroids.clusters)])

    def noise(
        self,
        column: CategoryColumn,
        centroids: LabelScores,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Codes:
        spread, name = float(sensitivity[0]), column.attribute.name
        return exponential_mechanism(centroids.marginality, epsilon, spread, sampler, name, centroids.line)


def _scores(column: CategoryColumn, clustering: Clustering) -> LabelScores:
    counts, line = label_counts(column, clustering)
    return LabelScores(counts, line, marginality(counts, column.distance), clustering.shape.clusters)


def label_counts(column: CategoryColumn, clustering: Clustering) -> tuple[Floats, Whole]:
    """How many records hold each label, a line for neighbouring clusters that are alike; and the line of each cluster."""
    labels, categories = clustering.labels, column.label_count
    if clustering.count == len(labels):  # everybody is alone
        line = np.empty(len(labels), dtype=np.int64)
        line[labels] = column.codes
        return np.eye(categories), line
    counts = cluster_counts(labels, column.codes, clustering.count, categories)
    other = np.any(counts[1:] != counts[:-1], axis=1)
    return counts[np.flatnonzero(np.concatenate([[True], other]))], np.concatenate([[0], np.cumsum(other)])


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


@dataclass(frozen=True, slots=True)
class SortedLabels(ExponentialMechanism):
    """The list of labels along the public order, drawn for the path length of that order (ours), without the rows."""

    stages: str = f"{WHOLE_LIST.stages} · the list alone"
    spread: Callable[[CategoryColumn, int], float] = WHOLE_LIST.spread

    def noise(
        self,
        column: CategoryColumn,
        centroids: LabelScores,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Any:
        codes = WHOLE_LIST.noise(column, centroids, sensitivity, epsilon, sampler)
        return Steps(codes, centroids.counts.sum(axis=1)[centroids.line])  # sizes follow from n and k


# Categories by rank: indexes in an order are averaged and perturbed like numbers, then rounded back (Del
# Vasto-Terrientes et al., §5.1).

_NOBODY = np.empty(0)


@dataclass(frozen=True, slots=True)
class RankedCategories(Mechanism):
    """Ordered labels as numbers: their ranks, with the noise of `numeric`, and back to the nearest rank."""

    numeric: LaplaceOnCentroids
    many_runs: ClassVar[bool] = True

    @property
    def stages(self) -> str:
        return f"rank of the label · {self.numeric.stages} · nearest rank"

    @property
    def needs_all_clusters(self) -> bool:
        return self.numeric.needs_all_clusters

    def reach(self, records: int, k: int) -> Fraction | None:
        return self.numeric.reach(records, k)

    def centroids(self, column: CategoryColumn, clustering: Clustering) -> Centroids:
        return self.numeric.centroids(_ranks(column, column.position), clustering)

    def sensitivity(self, column: CategoryColumn, centroids: Centroids, k: int) -> Floats:
        return self.numeric.sensitivity(_ranks(column), centroids, k)

    def noise(
        self,
        column: CategoryColumn,
        centroids: Centroids,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Codes:
        noisy = self.numeric.noise(_ranks(column), centroids, sensitivity, epsilon, sampler)
        return decode(noisy, column.order)


def _ranks(column: CategoryColumn, position: Floats = _NOBODY) -> NumericColumn:
    """Only centroids read the records themselves."""
    domain = Domain(lower=0, upper=max(len(column.order) - 1, 1))
    return NumericColumn(
        column.attribute,
        position,
        domain,
        None,
        column.field,
        lambda ranks: column.restore(decode(ranks, column.order)),
    )
