"""The noisy list itself: sorted centroids, or labels along the public order, without the rows they came from.

Each class gives a `Marginal`, the released distribution of the attribute; the kernel reads it at the ranks of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from coterie.chain.mechanism.mechanism import Mechanism
from coterie.chain.mechanism.numeric import Centroids
from coterie.chain.mechanism.semantic import WHOLE_LIST, Scores
from coterie.chain.noise.grid import public_grid
from coterie.chain.noise.sampler import Sampler, laplace_scales
from coterie.chain.partition import engine as local
from coterie.chain.partition.clustering import Clustering, mean
from coterie.chain.sensitivity.global_bounds import SORTED_LIST
from coterie.chain.synthesis.marginal import Marginal, Steps, rounded
from coterie.schema.arrays import Floats
from coterie.table.columns.column import CategoryColumn, NumericColumn


@dataclass(frozen=True, slots=True)
class SortedCentroids(Mechanism):
    """Sorted means + Laplace(Δ/(|C|ε_a)): ε_a-DP as a list (Sánchez et al. 2016, Lemma 1)."""

    many_runs: ClassVar[bool] = True

    @property
    def stages(self) -> str:
        return f"mean · Laplace, scale {SORTED_LIST.formula} / ε · the list alone"

    def reach(self, records: int, k: int) -> Fraction | None:
        return SORTED_LIST.reach(records, k) if SORTED_LIST.reach else None

    def centroids(self, column: NumericColumn, clustering: Clustering) -> Centroids:
        # Counted from the lower bound, so that rounding errors are in proportion to Δ, wherever the domain lies.
        summary = local.summarise(column.values - column.domain.lower, clustering, SORTED_LIST.depth)
        return Centroids(summary, mean(summary))

    def sensitivity(self, column: NumericColumn, centroids: Centroids, k: int) -> Floats:
        return SORTED_LIST.compute(centroids.summary, column.domain, k)

    def noise(
        self,
        column: NumericColumn,
        centroids: Centroids,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Marginal:
        """One draw a centroid; all that follows is post-processing."""
        domain = column.domain
        scales = laplace_scales(sensitivity, epsilon)
        shape, width = centroids.summary.shape, domain.upper - domain.lower
        grid = public_grid(0.0, width, epsilon, shape) if sampler.private else None
        noisy = sampler.laplace(centroids.values, scales, column.attribute.name, grid) + domain.lower
        weights = centroids.summary.size.astype(np.float64)
        noisy = rounded(np.clip(noisy, domain.lower, domain.upper), column.step)
        return Steps(np.clip(noisy, domain.lower, domain.upper), weights)


@dataclass(frozen=True, slots=True)
class SortedLabels(Mechanism):
    """The list of labels along the public order, drawn for the path length of that order (ours)."""

    stages: str = f"{WHOLE_LIST.stages} · the list alone"
    many_runs: ClassVar[bool] = True

    def reach(self, records: int, k: int) -> Fraction:
        return WHOLE_LIST.reach(records, k)

    def centroids(self, column: CategoryColumn, clustering: Clustering) -> Scores:
        return WHOLE_LIST.centroids(column, clustering)

    def sensitivity(self, column: CategoryColumn, centroids: Scores, k: int) -> Floats:
        return WHOLE_LIST.sensitivity(column, centroids, k)

    def noise(
        self,
        column: CategoryColumn,
        centroids: Scores,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Marginal:
        codes = WHOLE_LIST.noise(column, centroids, sensitivity, epsilon, sampler)
        return Steps(codes, centroids.counts.sum(axis=1)[centroids.line])  # sizes follow from n and k
