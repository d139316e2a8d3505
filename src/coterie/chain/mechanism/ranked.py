"""Categories by rank: indexes in an order are averaged and perturbed like numbers, then rounded back (Del
Vasto-Terrientes et al., §5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from coterie.chain.mechanism.mechanism import Mechanism
from coterie.chain.mechanism.numeric import Centroids, LaplaceOnCentroids
from coterie.chain.noise.sampler import Sampler
from coterie.chain.partition.clustering import Clustering
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Domain
from coterie.schema.taxonomy.semantics import decode
from coterie.table.columns.column import CategoryColumn, Codes, NumericColumn

_NOBODY = np.empty(0)


@dataclass(frozen=True, slots=True)
class RankedCategories(Mechanism):
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
