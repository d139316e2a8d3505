"""What cells and runs release for the clusters of numeric attributes, and the sums over it that several measures read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coterie.evaluation.clustered import Clusters, Floats, Whole


@dataclass(frozen=True, slots=True)
class Sums:
    """What measures ask of a long column, added up in one go while its values are made: a number an attribute and row."""

    squared_error: Floats  # Σ (released − original)²
    shift: Floats  # Σ size · (released − mean of the original)
    spread: Floats  # Σ size · (released − mean of the original)²
    weighted: Floats  # Σ |released − original| / what it is held against
    histogram: Whole | None  # records in each bin of `jensen_shannon`: row, bin


@dataclass(frozen=True)
class Released:
    """What cells and runs release for the clusters. `sums`, where there are some, spare a measure to ask for the values."""

    clusters: Clusters
    make: Callable[[], Floats]
    sums: Sums | None = None

    @cached_property
    def values(self) -> Floats:
        """The axes: attribute, row (a cell and run), cluster."""
        return self.make()

    @cached_property
    def squared_error(self) -> Floats:
        """Σ over records of (released − original)², a number an attribute and row. Three measures read it."""
        if self.sums is not None:
            return self.sums.squared_error
        return self.clusters.within + self.over_squares(self.gaps)

    @cached_property
    def around_mean(self) -> tuple[Floats, Floats]:
        """Σ over records of the released value less the original's mean, and of its square."""
        if self.sums is not None:
            return self.sums.shift, self.sums.spread
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
