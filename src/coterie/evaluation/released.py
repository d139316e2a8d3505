"""What cells and runs release for the clusters of numeric attributes, and the sums over it that several measures read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coterie.evaluation.clustered import Clusters
from coterie.schema.arrays import Floats


@dataclass(frozen=True)
class Released:
    """What cells and runs release for the clusters. The axes of `values`: attribute, row (a cell and run), cluster."""

    clusters: Clusters
    values: Floats

    @cached_property
    def squared_error(self) -> Floats:
        """Σ over records of (released − original)², a number an attribute and row. Three measures read it."""
        return self.clusters.within + self.over_squares(self.gaps)

    @cached_property
    def around_mean(self) -> tuple[Floats, Floats]:
        """Σ over records of the released value less the original's mean, and of its square."""
        distance = self.values - self.clusters.numbers.mean[:, None]
        return self.over_records(distance), self.over_squares(distance)

    @cached_property
    def gaps(self) -> Floats:
        return np.asarray(self.values - self.clusters.mean[:, None])

    def over_records(self, values: Floats) -> Floats:
        """Σ size · value."""
        return np.asarray(self.clusters.usual * values.sum(axis=2) + self._rest(values))

    def over_squares(self, values: Floats) -> Floats:
        """Σ size · value². Not `@`: BLAS would start threads of its own inside ours."""
        squares = np.einsum("arc,arc->ar", values, values)
        return np.asarray(self.clusters.usual * squares + self._rest(values, square=True))

    def _rest(self, values: Floats, *, square: bool = False) -> Floats:
        """What clusters of an unusual size add to what all have in common."""
        other = self.clusters.unusual
        if not len(other):
            return np.zeros(1)
        few = values[:, :, other]
        return np.asarray((few * few if square else few) @ (self.clusters.size[other] - self.clusters.usual))
