"""A column as clusters: what every by-cluster measure needs, computed once and used by every ε, method and run.

    SSE of a cluster = SSE inside it + size · (released value − mean)²

so the error of a cell costs one number a cluster, not one a record, and clipping and rounding stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.partition.summary import Summary
from coterie.schema import Attribute

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """One attribute of the original table. `ordered` rises; `records` is in record order."""

    attribute: Attribute
    records: Floats
    ordered: Floats

    @cached_property
    def variance(self) -> float:
        """Sample variance (000 Eq. (5), 003 Eq. (5))."""
        return float(np.var(self.records, ddof=1))

    @cached_property
    def weights(self) -> Floats:
        """1 / max(sanity bound, |x|) of each value in order (001 §4.2)."""
        return 1.0 / np.maximum(sanity_bound(self.attribute), np.abs(self.ordered))

    @cached_property
    def running(self) -> tuple[Floats, Floats]:
        """Σ w and Σ w·x over the first i values in order."""
        return _running(self.weights), _running(self.weights * self.ordered)

    @cached_property
    def histograms(self) -> dict[int, NDArray[np.int64]]:
        """The original's histogram by number of bins; filled by the measure that needs it."""
        return {}


@dataclass(frozen=True)
class ClusteredColumn:
    """A column cut into clusters.

    With `alone`, cluster i is record i; else the clusters are consecutive stretches of the ordered column.
    """

    column: Column
    summary: Summary
    alone: bool
    _last: list[tuple[Floats, Floats]] = field(default_factory=list, repr=False)

    @cached_property
    def size(self) -> Floats:
        return self.summary.size.astype(np.float64)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.summary.total / self.summary.size, dtype=np.float64)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.summary.size)

    @cached_property
    def within(self) -> float:
        """Σ (x − mean of its cluster)² over all records: what grouping alone costs."""
        if self.alone:
            return 0.0
        return float(np.sum((self.column.ordered - np.repeat(self.mean, self.summary.size)) ** 2))

    def squared_error(self, values: Floats) -> Floats:
        """Σ over records of (released − original)², one number a run. Three measures ask; one answer serves them."""
        if not self._last or self._last[0][0] is not values:
            error = np.asarray(self.within + ((values - self.mean) ** 2) @ self.size, dtype=np.float64)
            self._last[:] = [(values, error)]
        return self._last[0][1]


def sanity_bound(attribute: Attribute) -> float:
    """001 §4.2: a hundredth of the domain."""
    return float(attribute.bounds().width) / 100


def _running(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))
