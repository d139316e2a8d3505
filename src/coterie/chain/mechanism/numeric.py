"""Numbers: centroid, bound on its movement, Laplace noise (Soria-Comas et al., Algorithm 1, Sánchez et al. 2016,
Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from coterie.chain.mechanism import Mechanism
from coterie.chain.noise.sampler import Sampler, laplace_scales, public_grid
from coterie.chain.partition.clustering import Clustering, ClusterSummary, mean, summarise, trimmed_mean
from coterie.chain.sensitivity import SORTED_LIST, Bound
from coterie.chain.synthesis.marginal import Marginal, Steps, rounded
from coterie.schema.arrays import Floats
from coterie.table.columns.column import NumericColumn

_FARTHEST = 2.0**53  # whole numbers beyond are not exact as doubles


@dataclass(frozen=True, slots=True)
class Centroid:
    """How a cluster is summed up, and how many of its outermost values that needs."""

    name: str
    depth: int
    compute: Callable[[ClusterSummary], Floats]


MEAN = Centroid("mean", 0, mean)
TRIMMED_MEAN = Centroid("trimmed mean", 3, trimmed_mean)


@dataclass(frozen=True, slots=True)
class Centroids:
    summary: ClusterSummary
    values: Floats


@dataclass(frozen=True, slots=True)
class LaplaceOnCentroids(Mechanism):
    """A centroid per cluster plus Laplace noise for what `bound` says one record can move it. No bound, no noise."""

    centroid: Centroid
    bound: Bound | None
    many_runs: ClassVar[bool] = True

    @property
    def stages(self) -> str:
        noise = f"Laplace, scale {self.bound.formula} / ε" if self.bound else "no noise"
        return f"{self.centroid.name} · {noise}"

    @property
    def depth(self) -> int:
        """How many of a cluster's outermost values it reads."""
        return max(self.centroid.depth, self.bound.depth if self.bound else 0)

    @property
    def needs_all_clusters(self) -> bool:
        return self.bound is not None and self.bound.needs_all_clusters

    @property
    def adds_laplace(self) -> bool:
        return self.bound is not None

    def reach(self, records: int, k: int) -> Fraction | None:
        return self.bound.reach(records, k) if self.bound and self.bound.reach else None

    def multiplier(self, centroids: Centroids) -> float | None:
        return self.bound.multiplier(centroids.summary) if self.bound and self.bound.multiplier else None

    def centroids(self, column: NumericColumn, clustering: Clustering) -> Centroids:
        summary = summarise(column.values, clustering, self.depth)
        return Centroids(summary, self.centroid.compute(summary))

    def sensitivity(self, column: NumericColumn, centroids: Centroids, k: int) -> Floats:
        if self.bound is None:
            return np.zeros(len(centroids.values))
        return self.bound.compute(centroids.summary, column.domain, k)

    def noise(
        self,
        column: NumericColumn,
        centroids: Centroids,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Floats:
        """One draw per cluster."""
        scales = laplace_scales(sensitivity, epsilon)
        domain = column.domain
        grid = None  # seeded noise lives on none
        if sampler.private:
            grid = public_grid(domain.lower, domain.upper, epsilon, centroids.summary.shape)
        return in_domain(sampler.laplace(centroids.values, scales, column.attribute.name, grid), column)


def in_domain(noisy: Floats, column: NumericColumn) -> Floats:
    """Clipped to the domain and rounded to the column's step, in place: post-processing, which costs no ε."""
    limits = column.limits if column.clip else (-_FARTHEST, _FARTHEST)
    np.clip(noisy, *limits, out=noisy)
    if column.step is not None:
        # np.rint keeps whole numbers exact; a step such as 0.01 is a division away from them.
        per_unit = round(1 / column.step)
        noisy *= per_unit
        np.rint(noisy, out=noisy)
        noisy /= per_unit
        np.clip(noisy, *limits, out=noisy)
    return noisy


# The noisy list itself, without the rows it came from: a `Marginal`, the released distribution of the attribute, which the
# kernel reads at the ranks of rows.


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
        summary = summarise(column.values - column.domain.lower, clustering, SORTED_LIST.depth)
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
        noisy = rounded(np.clip(noisy, *column.limits), column.step)
        return Steps(np.clip(noisy, *column.limits), weights)
