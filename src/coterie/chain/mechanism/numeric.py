"""Numbers: centroid, bound on its movement, Laplace noise (Soria-Comas et al., Algorithm 1, Sánchez et al. 2016,
Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from coterie.chain.mechanism import Mechanism
from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.sampler import Sampler, laplace_scales, public_grid, whole_grid
from coterie.chain.partition.clustering import Clustering, ClusterSummary, mean, summarise, trimmed_mean
from coterie.chain.sensitivity import SORTED_LIST, Bound
from coterie.chain.synthesis.marginal import Steps, rounded
from coterie.schema.arrays import Flags, Floats
from coterie.schema.attributes import Domain
from coterie.table.columns.column import NumericColumn

_COUNTING = Fraction(1, 10)  # of an attribute's ε, for how many values are missing
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
    missing: Floats | None = None  # how many records of each cluster are missing, where that is an outcome


def _missing(column: NumericColumn, clustering: Clustering) -> Floats | None:
    return summarise(np.isnan(column.values).astype(float), clustering, 0).total if column.gaps else None


# Missing records of each cluster, its summary, the bound, ε, sampler, name of the stream → which clusters are missing.
Gaps = Callable[[Floats, ClusterSummary, Bound, Fraction, Sampler, str], Flags]


@dataclass(frozen=True, slots=True)
class LaplaceOnCentroids(Mechanism):
    """A centroid per cluster plus Laplace noise for what `bound` says one record can move it. No bound, no noise."""

    centroid: Centroid
    bound: Bound | None
    gaps: Gaps | None = None  # how it is released which numbers are missing
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
    def takes_gaps(self) -> bool:
        return self.gaps is not None

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
        summary = summarise(column.complete(column.domain.middle), clustering, self.depth)
        return Centroids(summary, self.centroid.compute(summary), _missing(column, clustering))

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
        noisy = in_domain(sampler.laplace(centroids.values, scales, column.attribute.name, grid), column)
        if centroids.missing is None:
            return noisy
        assert self.gaps is not None  # else the schema was refused
        assert self.bound is not None
        stream = f"{column.attribute.name}: missing"
        absent = self.gaps(centroids.missing, centroids.summary, self.bound, epsilon, sampler, stream)
        return np.where(absent, np.nan, noisy)


# Missing numbers: which clusters are released as missing, for ε/2. With the values that costs exactly ε, not 1.5 ε.
#
# A gap stands at mid-domain among the values. So in each cluster one replaced record either moves the values by up to Δ and
# no gap (ε), or one gap and the values by up to Δ/2 (ε/2 + ε/2): docs/guarantees/missing.md. It needs clusters of which one
# replaced record changes one member each; cut from the order of the values themselves, they are not such.


def randomised_response(
    missing: Floats, summary: ClusterSummary, bound: Bound, epsilon: Fraction, sampler: Sampler, stream: str
) -> Flags:
    """Where every record is alone, and stays so: the truth with odds e^(ε/2)."""
    scores, truth = 1 - np.eye(2), missing.astype(np.int64)
    return np.asarray(exponential_mechanism(scores, epsilon, 1.0, sampler, stream, truth) == 1)


def noisy_majority(
    missing: Floats, summary: ClusterSummary, bound: Bound, epsilon: Fraction, sampler: Sampler, stream: str
) -> Flags:
    """The share of gaps like another attribute, with the same bound: whether it is above one half."""
    half, shape = epsilon / 2, summary.shape
    scales = laplace_scales(bound.compute(summary, Domain(lower=0, upper=1), shape.smallest), half)
    grid = public_grid(0.0, 1.0, half, shape) if sampler.private else None
    return np.asarray(sampler.laplace(missing / summary.size, scales, stream, grid) > 0.5)


def in_domain(noisy: Floats, column: NumericColumn) -> Floats:
    """Clipped to the domain and rounded to the column's step, in place: post-processing, which costs no ε."""
    limits = column.limits if column.clip else (-_FARTHEST, _FARTHEST)
    np.clip(noisy, *limits, out=noisy)
    if column.step is not None:
        np.clip(rounded(noisy, column.step, out=noisy), *limits, out=noisy)
    return noisy


# The noisy list itself, without the rows it came from: the released distribution of the attribute, which the
# kernel reads at the ranks of rows.


@dataclass(frozen=True, slots=True)
class SortedCentroids(Mechanism):
    """Sorted means + Laplace(Δ/(|C|ε_a)): ε_a-DP as a list (Sánchez et al. 2016, Lemma 1).

    Missing numbers stand at the lower bound, so they come first. A noisy count of them, for a tenth of ε_a, says how many
    places of the list are released as missing instead.
    """

    takes_gaps: bool = True
    many_runs: ClassVar[bool] = True

    @property
    def stages(self) -> str:
        return f"mean · Laplace, scale {SORTED_LIST.formula} / ε · the list alone"

    def reach(self, records: int, k: int) -> Fraction | None:
        return SORTED_LIST.reach(records, k) if SORTED_LIST.reach else None

    def centroids(self, column: NumericColumn, clustering: Clustering) -> Centroids:
        # Counted from the lower bound, so that rounding errors are in proportion to Δ, wherever the domain lies.
        summary = summarise(column.position - column.domain.lower, clustering, SORTED_LIST.depth)
        return Centroids(summary, mean(summary), _missing(column, clustering))

    def sensitivity(self, column: NumericColumn, centroids: Centroids, k: int) -> Floats:
        return SORTED_LIST.compute(centroids.summary, column.domain, k)

    def noise(
        self,
        column: NumericColumn,
        centroids: Centroids,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Steps:
        """One draw per centroid. All that follows is post-processing."""
        domain, missing = column.domain, None
        if centroids.missing is not None:
            missing, epsilon = (
                self._count(column, centroids.missing, epsilon * _COUNTING, sampler),
                epsilon * (1 - _COUNTING),
            )
        scales = laplace_scales(sensitivity, epsilon)
        shape, width = centroids.summary.shape, domain.upper - domain.lower
        grid = public_grid(0.0, width, epsilon, shape) if sampler.private else None
        noisy = sampler.laplace(centroids.values, scales, column.attribute.name, grid) + domain.lower
        weights = centroids.summary.size.astype(np.float64)
        return Steps(in_domain(noisy, column), weights, missing)

    def _count(self, column: NumericColumn, missing: Floats, epsilon: Fraction, sampler: Sampler) -> Floats:
        """How many are missing: one replaced record moves it by 1."""
        exact, scales = np.array([missing.sum()]), laplace_scales(np.ones(1), epsilon)
        grid = whole_grid(2**31, float(scales[0])) if sampler.private else None
        return sampler.laplace(exact, scales, f"{column.attribute.name}: missing", grid)
