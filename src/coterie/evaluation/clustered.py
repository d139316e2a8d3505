"""Numbers as clusters: what every by-cluster measure needs, computed once and used by every ε, method and run.

    SSE of a cluster = SSE inside it + size · (released value − mean)²

so the error of a cell costs one number per cluster, not one per record, and clipping and rounding stay exact. Attributes
of a small table lie side by side in one array, so that a step costs one call and not one an attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coterie.schema.arrays import Floats, Whole
from coterie.table.columns.change import rounding, variance
from coterie.table.columns.column import NumericColumn


@dataclass(frozen=True)
class Numbers:
    """Numeric attributes of the original table. The first axis of every array is the attribute."""

    sources: tuple[NumericColumn, ...]
    records: Floats  # in record order

    @classmethod
    def of(cls, sources: Sequence[NumericColumn]) -> Numbers:
        single = len(sources) == 1  # a long column is not copied
        return cls(
            tuple(sources), sources[0].values[None] if single else np.stack([s.values for s in sources])
        )

    @cached_property
    def gaps(self) -> bool:
        """Whether values are missing: then records are measured one by one."""
        return bool(np.isnan(self.records).any())

    @cached_property
    def ordered(self) -> Floats:
        return np.sort(self.records, axis=1)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.records.mean(axis=1)[:, None])

    @cached_property
    def variance(self) -> Floats:
        return variance(self.records)[:, None]

    @cached_property
    def rounding(self) -> Floats:
        """Up to which squared error a constant attribute counts as unchanged."""
        return rounding(self.records)[:, None]

    @cached_property
    def some_constant(self) -> bool:
        """Whether an attribute has one value only, so that nothing can be divided by its variance."""
        return bool((self.variance <= 0).any())

    def error_unit(self, values: Floats) -> Floats:
        """What an error of each value is compared with; one row per attribute."""
        units = np.maximum([[sanity_bound(source)] for source in self.sources], np.abs(values))
        for place, source in enumerate(self.sources):
            if not source.attribute.type.has_zero:
                units[place] = source.domain.width
        return units

    @cached_property
    def histograms(self) -> dict[str, Any]:
        """By kind of bins, what a measure of distributions knows of the original; filled by the one that needs it."""
        return {}


@dataclass(frozen=True)
class Arranged:
    """The records cluster by cluster, values rising inside each. Individual ranking has one arrangement for all k."""

    numbers: Numbers
    values: Floats

    @cached_property
    def rising(self) -> bool:
        """Whether they rise from cluster to cluster too."""
        return bool((self.values[:, 1:] >= self.values[:, :-1]).all())

    @cached_property
    def weights(self) -> Floats:
        """1 / max(sanity bound, |x|) of each record (Sánchez et al. 2016, §4.2), or what `error_unit` takes for it."""
        return np.asarray(1.0 / self.numbers.error_unit(self.values))

    @cached_property
    def running(self) -> tuple[Floats, Floats]:
        """Σ w and Σ w·(x − mean) over the records up to each. Around the mean: moments of one day in 2026 are alike in
        nearly all digits, and differences of long sums would be left with the rest."""
        return np.cumsum(self.weights, axis=1), np.cumsum(
            self.weights * (self.values - self.numbers.mean), axis=1
        )


@dataclass(frozen=True)
class Clusters:
    """Attributes cut into clusters of the same sizes; `alone` says that cluster i is record i."""

    arranged: Arranged
    size: Whole
    total: Floats  # sum of each cluster, for each attribute
    alone: bool = False

    @property
    def numbers(self) -> Numbers:
        return self.arranged.numbers

    @cached_property
    def usual(self) -> int:
        """The size of nearly all clusters."""
        return int(self.size[0])

    @cached_property
    def unusual(self) -> Whole:
        """Clusters of another size: the last one only, where groups are of equal size."""
        return np.flatnonzero(self.size != self.usual)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.total / self.size, dtype=np.float64)

    @cached_property
    def ends(self) -> Whole:
        return np.cumsum(self.size)

    @cached_property
    def starts(self) -> Whole:
        return self.ends - self.size

    @cached_property
    def alike(self) -> int:
        """How many clusters there are before the first of another size."""
        return int(self.unusual[0]) if len(self.unusual) else len(self.size)

    def outermost(self, depth: int) -> tuple[Floats, Floats]:
        """The smallest values of each cluster, rising, and the largest, falling: attribute, cluster, depth."""
        values, alike = self.arranged.values, self.alike
        low, high = np.empty((2, len(values), len(self.size), depth))
        if not depth:
            return low, high
        usual = values[:, : alike * self.usual].reshape(len(values), alike, self.usual)
        low[:, :alike], high[:, :alike] = usual[:, :, :depth], usual[:, :, : -depth - 1 : -1]
        if len(self.unusual):
            inward = np.arange(depth)
            low[:, alike:] = values[:, self.starts[alike:, None] + inward]
            high[:, alike:] = values[:, self.ends[alike:, None] - 1 - inward]
        return low, high

    @cached_property
    def lowest(self) -> Floats:
        return self.arranged.values[:, self.starts]

    @cached_property
    def highest(self) -> Floats:
        return self.arranged.values[:, self.ends - 1]

    @cached_property
    def weighed(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Σ w over the records before each cluster and up to its end, and Σ w·(x − mean)."""
        upto = [sums[:, self.ends - 1] for sums in self.arranged.running]
        before = [np.zeros_like(sums) for sums in upto]
        for earlier, sums in zip(before, upto, strict=True):
            earlier[:, 1:] = sums[:, :-1]
        return before[0], upto[0], before[1], upto[1]

    @cached_property
    def within(self) -> Floats:
        """Σ (x − mean of its cluster)² over all records: what grouping alone costs."""
        if self.alone:
            return np.zeros((len(self.total), 1))
        values, alike = self.arranged.values, self.alike
        gaps = np.empty_like(values)
        end = alike * self.usual
        shape = (len(values), alike, self.usual)
        np.subtract(
            values[:, :end].reshape(shape), self.mean[:, :alike, None], out=gaps[:, :end].reshape(shape)
        )
        if len(self.unusual):
            gaps[:, end:] = values[:, end:] - np.repeat(self.mean[:, alike:], self.size[alike:], axis=1)
        return np.asarray(np.einsum("ai,ai->a", gaps, gaps)[:, None])


def sanity_bound(column: NumericColumn) -> float:
    """Sánchez et al. 2016, §4.2: a hundredth of the domain."""
    return float(column.domain.width) / 100
