"""Numbers: centroid, bound on its movement, Laplace noise (000 Algorithm 1, 001 Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from coterie.chain.noise.grid import public_grid
from coterie.chain.noise.sampler import Sampler, laplace_scales
from coterie.chain.partition import engine as local
from coterie.chain.partition.clustering import Clustering, Summary
from coterie.chain.sensitivity.global_bounds import Bound
from coterie.table.columns.column import Floats, NumericColumn

_FARTHEST = 2.0**53  # whole numbers beyond are not exact as doubles


@dataclass(frozen=True, slots=True)
class Centroid:
    """How a cluster is summed up, and how many of its outermost values that needs."""

    name: str
    depth: int
    compute: Callable[[Summary], Floats]


@dataclass(frozen=True, slots=True)
class Centroids:
    summary: Summary
    values: Floats


@dataclass(frozen=True, slots=True)
class LaplaceOnCentroids:
    """No bound means no noise."""

    centroid: Centroid
    bound: Bound | None
    caution: str | None = None

    @property
    def stages(self) -> str:
        noise = f"Laplace, scale {self.bound.formula} / ε" if self.bound else "no noise"
        return f"{self.centroid.name} · {noise}"

    @property
    def depth(self) -> int:
        """How many of a cluster's outermost values it reads."""
        return max(self.centroid.depth, self.bound.depth if self.bound else 0)

    def reach(self, records: int, k: int) -> Fraction | None:
        return self.bound.reach(records, k) if self.bound and self.bound.reach else None

    def centroids(self, column: NumericColumn, clustering: Clustering) -> Centroids:
        summary = local.summarise(column.values, clustering, self.depth)
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
        """One draw a cluster. Clipping and rounding are post-processing, so they cost no ε."""
        scales = laplace_scales(sensitivity, epsilon)
        domain = column.domain
        shape = centroids.summary.shape
        # Seeded noise lives on no grid.
        grid = public_grid(domain.lower, domain.upper, epsilon, shape) if sampler.private else None
        noisy = sampler.laplace(centroids.values, scales, column.attribute.name, grid)
        lower, upper = limits(column)
        noisy = np.clip(noisy, lower, upper)
        if column.step is not None:
            # np.rint keeps whole numbers exact; a step such as 0.01 is a division away from them.
            per_unit = round(1 / column.step)
            noisy = np.clip(np.rint(noisy * per_unit) / per_unit, lower, upper)
        return noisy

    def rows(self, column: NumericColumn, released: Floats, place: Clustering) -> tuple[Floats, pa.Array]:
        values = local.attach(released, place)
        return values, column.restore(values)


def limits(column: NumericColumn) -> tuple[float, float]:
    """Between what released values lie."""
    return (column.domain.lower, column.domain.upper) if column.clip else (-_FARTHEST, _FARTHEST)
