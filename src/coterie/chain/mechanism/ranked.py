"""Categories by rank: indexes in an order are averaged and perturbed like numbers, then rounded back (003 §5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from coterie.chain.mechanism.numeric import Centroids, LaplaceOnCentroids
from coterie.chain.noise.sampler import Sampler
from coterie.chain.partition.clustering import Clustering
from coterie.schema.attributes import Domain
from coterie.schema.taxonomy.orders import decode
from coterie.table.columns.column import CategoryColumn, Codes, Floats, NumericColumn


@dataclass(frozen=True, slots=True)
class RankedCategories:
    numeric: LaplaceOnCentroids
    caution: str | None = None

    @property
    def stages(self) -> str:
        return f"rank of the label · {self.numeric.stages} · nearest rank"

    def reach(self, records: int, k: int) -> Fraction | None:
        return self.numeric.reach(records, k)

    def centroids(self, column: CategoryColumn, clustering: Clustering) -> Centroids:
        return self.numeric.centroids(_ranks(column), clustering)

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

    def rows(self, column: CategoryColumn, released: Codes, place: Clustering) -> tuple[Codes, pa.Array]:
        codes = released[place.labels]
        return codes, column.restore(codes)


def _ranks(column: CategoryColumn) -> NumericColumn:
    domain = Domain(lower=0, upper=max(len(column.order) - 1, 1))
    return NumericColumn(
        column.attribute,
        column.position,
        domain,
        None,
        column.field,
        lambda ranks: column.restore(decode(ranks, column.order)),
    )
