"""Columns as clusters: what every by-cluster measure needs, computed once and used by every ε, method and run.

    SSE of a cluster = SSE inside it + size · (released value − mean)²
    semantic distance of a cluster = m(S, released label), the marginality of 001 Eq. (4)

so the error of a cell costs one number a cluster, not one a record, and clipping and rounding stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.columns.column import CategoryColumn, NumericColumn
from coterie.partition.summary import Summary
from coterie.taxonomy.marginality import marginality

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class OrderedColumn:
    """One numeric attribute of the original table, and its values in rising order."""

    source: NumericColumn
    ordered: Floats

    @property
    def records(self) -> Floats:
        return self.source.values

    @cached_property
    def variance(self) -> float:
        """Sample variance (000 Eq. (5), 003 Eq. (5))."""
        return float(np.var(self.records, ddof=1))

    @cached_property
    def weights(self) -> Floats:
        """1 / max(sanity bound, |x|) of each record (001 §4.2)."""
        return 1.0 / np.maximum(sanity_bound(self.source), np.abs(self.records))

    @cached_property
    def running(self) -> tuple[Floats, Floats]:
        """Σ w and Σ w·x over the first i values in order, w = 1 / max(sanity bound, |x|) (001 §4.2)."""
        weights = 1.0 / np.maximum(sanity_bound(self.source), np.abs(self.ordered))
        return _running(weights), _running(weights * self.ordered)

    @cached_property
    def histograms(self) -> dict[int, Whole]:
        """The original's histogram by number of bins; filled by the measure that needs it."""
        return {}


@dataclass(frozen=True)
class ClusteredColumn:
    """A numeric column cut into clusters.

    `labels` is None for consecutive stretches of the ordered column, else the cluster of each record; `alone` says that
    cluster i is record i.
    """

    column: OrderedColumn
    summary: Summary
    labels: NDArray[np.int32] | None = None
    alone: bool = False
    _last: list[tuple[Floats, Floats]] = field(default_factory=list, repr=False)

    @cached_property
    def size(self) -> Floats:
        return self.summary.size.astype(np.float64)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.summary.total / self.summary.size, dtype=np.float64)

    @cached_property
    def ends(self) -> Whole:
        return np.cumsum(self.summary.size)

    @cached_property
    def within(self) -> float:
        """Σ (x − mean of its cluster)² over all records: what grouping alone costs."""
        if self.alone:
            return 0.0
        if self.labels is None:
            return float(np.sum((self.column.ordered - np.repeat(self.mean, self.summary.size)) ** 2))
        return float(np.sum((self.column.records - self.mean[self.labels]) ** 2))

    def squared_error(self, values: Floats) -> Floats:
        """Σ over records of (released − original)², one number a run. Three measures ask; one answer serves them."""
        if not self._last or self._last[0][0] is not values:
            distance = values - self.mean
            distance *= distance
            error = np.asarray(self.within + self.over_records(distance), dtype=np.float64)
            self._last[:] = [(values, error)]
        return self._last[0][1]

    def over_records(self, values: Floats) -> Floats:
        """Σ size · value, one number a row. Not `@`: BLAS would start threads of its own inside ours."""
        return np.asarray(np.einsum("rc,c->r", values, self.size), dtype=np.float64)


@dataclass(frozen=True)
class ClusteredLabels:
    """A column of categories cut into clusters: how many records of each cluster hold each label."""

    source: CategoryColumn
    counts: Floats

    @property
    def records(self) -> int:
        return len(self.source.codes)

    @cached_property
    def size(self) -> Floats:
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    @cached_property
    def marginality(self) -> Floats:
        """m(S_j, a) for every cluster and label."""
        return marginality(self.counts, self.source.distance)

    @cached_property
    def histogram(self) -> Whole:
        return np.bincount(self.source.codes, minlength=len(self.source.distance))


def sanity_bound(column: NumericColumn) -> float:
    """001 §4.2: a hundredth of the domain."""
    return float(column.domain.width) / 100


def _running(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))
