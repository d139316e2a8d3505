"""Numbers as clusters: what every by-cluster measure needs, computed once and used by every ε, method and run.

    SSE of a cluster = SSE inside it + size · (released value − mean)²

so the error of a cell costs one number per cluster, not one per record, and clipping and rounding stay exact. Attributes
of a small table lie side by side in one array, so that a step costs one call and not one per attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coterie.schema.arrays import Codes, Floats, Whole
from coterie.schema.taxonomy.semantics import marginality
from coterie.table.columns.column import CategoryColumn, NumericColumn, rounding, variance


@dataclass(frozen=True)
class OriginalNumbers:
    """Numeric attributes of the original table. The first axis of every array is the attribute."""

    sources: tuple[NumericColumn, ...]
    records: Floats  # in record order

    @classmethod
    def of(cls, sources: Sequence[NumericColumn]) -> OriginalNumbers:
        single = len(sources) == 1  # a long column is not copied
        return cls(
            tuple(sources), sources[0].values[None] if single else np.stack([s.values for s in sources])
        )

    @cached_property
    def gaps(self) -> bool:
        """Whether values may be missing, here or in a release: then records are measured one by one."""
        return any(source.gaps for source in self.sources)

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

    def error_unit(self, values: Floats) -> Floats:
        """What an error of each value is compared with; one row per attribute."""
        # The sanity bound of Sánchez et al. 2016, §4.2: a hundredth of the domain.
        units = np.maximum([[float(source.domain.width) / 100] for source in self.sources], np.abs(values))
        for place, source in enumerate(self.sources):
            if not source.attribute.type.has_zero:
                units[place] = source.domain.width
        return units

    @cached_property
    def histograms(self) -> dict[str, Any]:
        """What a measure of distributions knows of the original, per kind of bins; filled by the one that needs it."""
        return {}


@dataclass(frozen=True)
class Arranged:
    """The records cluster by cluster, values rising inside each. Individual ranking has one arrangement for all k."""

    numbers: OriginalNumbers
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
class ClusteredNumbers:
    """Attributes cut into clusters of the same sizes; `alone` says that cluster i is record i."""

    arranged: Arranged
    size: Whole
    total: Floats  # sum of each cluster, for each attribute
    alone: bool = False

    @property
    def numbers(self) -> OriginalNumbers:
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


# Categories as clusters: what by-cluster measures need, computed once and used by every ε, method and run.
#
# semantic distance of a cluster = m(S, released label), the marginality of Sánchez et al. 2016, Eq. (4)
#
# so the error of a cell costs one number per cluster.


@dataclass(frozen=True)
class ClusteredLabels:
    """A column of categories cut into clusters. Ranked by category most clusters hold one label only: few are distinct."""

    source: CategoryColumn
    counts: Floats  # how many records of each distinct cluster hold each label
    group: Whole  # which of them each cluster is like

    @property
    def records(self) -> int:
        return len(self.source.codes)

    @cached_property
    def size(self) -> Floats:
        """How many records each distinct cluster has."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    @cached_property
    def marginality(self) -> Floats:
        """m(S, a) for every distinct cluster and label."""
        return marginality(self.counts, self.source.distance)

    @cached_property
    def histogram(self) -> Whole:
        return np.bincount(self.source.codes, minlength=self.source.label_count)


@dataclass(frozen=True)
class ReleasedLabels:
    """What cells and runs release: one row each, one label per cluster."""

    clustered: ClusteredLabels
    codes: Codes

    @cached_property
    def distance(self) -> Floats:
        """Σ δ over all records of a row. Σ δ over a cluster is the marginality of the label that was drawn for it."""
        return np.asarray(self.clustered.marginality[self.clustered.group, self.codes].sum(axis=1))

    @cached_property
    def histogram(self) -> Whole:
        """Records with each label, every label counted as often as its cluster has members."""
        rows, labels = len(self.codes), self.clustered.source.label_count
        place = self.codes + labels * np.arange(rows)[:, None]
        size = np.broadcast_to(self.clustered.size[self.clustered.group], place.shape)
        counts = np.bincount(place.ravel(), weights=size.ravel(), minlength=labels * rows)
        return counts.reshape(rows, labels).astype(np.int64)


# What cells and runs release for the clusters of numeric attributes, and the sums over it that several measures read.


@dataclass(frozen=True)
class ReleasedNumbers:
    """What cells and runs release for the clusters. The axes of `values`: attribute, row (a cell and run), cluster."""

    clusters: ClusteredNumbers
    values: Floats

    @cached_property
    def squared_error(self) -> Floats:
        """Σ over records of (released − original)², a number per attribute and row. Three measures read it."""
        return self.clusters.within + self.over_squares(self.gaps)

    @cached_property
    def around_mean(self) -> tuple[Floats, Floats]:
        """Σ over records of the released value less the original's mean, and of its square."""
        distance = self.values - self.clusters.numbers.mean[:, None]
        total = self.clusters.usual * distance.sum(axis=2) + self._rest(distance)
        return total, self.over_squares(distance)

    @cached_property
    def gaps(self) -> Floats:
        return np.asarray(self.values - self.clusters.mean[:, None])

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
