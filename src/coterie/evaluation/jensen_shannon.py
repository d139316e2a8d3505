"""jensen-shannon: divergence between the histograms before and after, base 2, so between 0 and 1 (Sánchez et al. 2016,
§4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from coterie.errors import ParameterError
from coterie.evaluation.clustered import ClusteredNumbers, OriginalNumbers, ReleasedLabels, ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.schema.arrays import Codes, Floats, Whole
from coterie.table.columns.column import CategoryColumn, NumericColumn, present

STRIPES = 100  # Sánchez et al. 2016: continuous attributes, bins of 1/100 of the domain
MOST_VALUES = 256  # "auto": up to so many possible values, one bin each; above, stripes
MOST_BINS = 1_000_000


def bin_count(column: NumericColumn, kind: str) -> int:
    """How many bins; one per value only where released values are whole numbers (integers, dates, ranks)."""
    possible = _possible(column)
    if kind == "value" and possible:
        if possible > MOST_BINS:
            raise ParameterError(
                f"Attribute '{column.attribute.name}' has more than {MOST_BINS:,} possible values.",
                "Choose domain or auto.",
            )
        return possible
    return possible if kind == "auto" and 0 < possible <= MOST_VALUES else STRIPES


def _possible(column: NumericColumn) -> int:
    """How many whole numbers lie inside the domain; 0 where values are not whole."""
    first, last = column.limits
    return int(last - first) + 1 if column.step == 1 else 0


@dataclass(frozen=True, slots=True)
class Edges:
    """Where the bins of several attributes are; arrays have the shape attribute (or 1 for all of them), 1, 1."""

    lower: Floats
    per_unit: Floats
    last: Floats  # the number of the last bin
    whole: list[int]  # attributes with one bin per value

    def places(self, values: Floats) -> Whole:
        """Which bin each value is in. Values outside the domain count in the outermost bins."""
        place: Floats = values - self.lower
        place *= self.per_unit
        for line in self.whole:
            np.rint(place[line], out=place[line])
        # The conversion to whole numbers cuts towards zero, which after clipping is the floor.
        return np.clip(place, 0, self.last, out=place).astype(np.int64)


def edges_of(sources: Sequence[NumericColumn], bins: Whole) -> Edges:
    lower, upper = np.array([(source.domain.lower, source.domain.upper) for source in sources]).T
    whole = np.flatnonzero(bins == [_possible(source) for source in sources]).tolist()
    per_unit = bins / (upper - lower)
    per_unit[whole] = 1.0
    lower[whole] = [sources[line].limits[0] for line in whole]
    # One limit is quicker than many.
    last = (bins[:1] if (bins == bins[0]).all() else bins).astype(np.float64) - 1.0
    return Edges(lower[:, None, None], per_unit[:, None, None], last[:, None, None], whole)


MOST_COUNTS = 4_000_000  # bins held at a time


def divergence(before: Whole, after: Whole, records: int) -> Floats:
    """JSD of two histograms of `records` values each, along the last axis.

    With f(c) = c·log2 c, H(a/n) = log2 n − Σf(a)/n, so JSD = 1 + (Σf(a) + Σf(b) − Σf(a + b))/2n: counts are whole
    numbers, and a table of f spares a logarithm per bin.
    """
    f = _count_times_log(2 * records)
    total = f[before].sum(axis=-1) + f[after].sum(axis=-1) - f[before + after].sum(axis=-1)
    return np.asarray(np.clip(1 + total / (2 * records), 0.0, 1.0), dtype=np.float64)


@lru_cache(maxsize=4)
def _count_times_log(largest: int) -> Floats:
    counts = np.arange(largest + 1, dtype=np.float64)
    counts[1:] *= np.log2(counts[1:])
    return counts


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    bins = bin_count(column, settings.bins)
    edges = edges_of([column], np.array([bins]))
    return _between(*(_counts(values, edges, bins) for values in (column.values, released)))


def _counts(values: Floats, edges: Edges, bins: int) -> Whole:
    """The histogram, and last how many values are missing."""
    there = present(values)
    counted = np.bincount(edges.places(there[None, None]).ravel(), minlength=bins)
    return np.append(counted, len(values) - len(there))


def _between(before: Whole, after: Whole) -> float:
    """As `divergence`, also where synthetic rows are more or fewer than the original's."""
    if before.sum() == after.sum():
        return float(divergence(before, after, int(before.sum())))
    either = before + after > 0
    shares = before[either] / before.sum(), after[either] / after.sum()
    middle = (shares[0] + shares[1]) / 2
    parts = [share * np.log2(share / middle, where=share > 0, out=np.zeros(len(middle))) for share in shares]
    return float(np.clip((parts[0] + parts[1]).sum() / 2, 0.0, 1.0))


def _labels(column: CategoryColumn, released: Codes, settings: Settings) -> float:
    labels = column.label_count
    return _between(*(np.bincount(codes, minlength=labels) for codes in (column.codes, released)))


def _clusters(released: ReleasedNumbers, settings: Settings) -> Floats:
    """As `divergence`; the bins of all attributes in one list, row after row."""
    bins = bins_of(released.clusters.numbers, settings)
    clusters, values = released.clusters, released.values
    at_once = max(1, MOST_COUNTS // len(bins.before))
    if values.shape[1] <= at_once:
        return _gain(_histogram(clusters, values, bins), bins)
    parts = (values[:, row : row + at_once] for row in range(0, values.shape[1], at_once))
    return np.concatenate([_gain(_histogram(clusters, part, bins), bins) for part in parts], axis=1)


def _histogram(clusters: ClusteredNumbers, values: Floats, bins: Bins) -> Whole:
    rows, width = values.shape[1], len(bins.before)
    place = bins.edges.places(values)
    place += (bins.first[:, None] + width * np.arange(rows))[:, :, None]
    after = np.bincount(place.ravel(), minlength=rows * width)
    after *= clusters.usual
    for other in clusters.unusual:
        after[place[:, :, other]] += clusters.size[other] - clusters.usual
    return after.reshape(rows, width)


def _gain(after: Whole, bins: Bins) -> Floats:
    """JSD of every attribute and row."""
    f = _count_times_log(2 * bins.records)
    gain = f.take(after)
    gain -= f.take(after + bins.before)
    total = np.add.reduceat(gain, bins.first, axis=1) + bins.own
    return np.clip(1 + total.T / (2 * bins.records), 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of several attributes side by side, and the original's histograms."""

    edges: Edges
    first: Whole  # where the bins of each attribute begin
    before: Whole
    own: Floats  # Σf of each attribute's histogram
    records: int


def bins_of(numbers: OriginalNumbers, settings: Settings) -> Bins:
    if settings.bins not in numbers.histograms:
        sources, values = numbers.sources, numbers.records[:, None]
        count = np.array([bin_count(source, settings.bins) for source in sources])
        edges = edges_of(sources, count)
        first = np.cumsum(count) - count
        records = values.shape[2]
        place = edges.places(values) + first[:, None, None]
        before = np.bincount(place.ravel(), minlength=int(count.sum()))
        own = [gain.sum() for gain in np.split(_count_times_log(2 * records)[before], first[1:])]
        numbers.histograms[settings.bins] = Bins(edges, first, before, np.array(own), records)
    found: Bins = numbers.histograms[settings.bins]
    return found


def _drawn(drawn: ReleasedLabels, settings: Settings) -> Floats:
    return divergence(drawn.clustered.histogram, drawn.histogram, drawn.clustered.records)


MEASURE = Measure(
    name="jensen-shannon",
    title="Jensen–Shannon divergence of the distributions",
    meaning="0: the same histogram, 1: nothing in common. Bins of 1/100 of the domain, or one bin per value",
    papers="Sánchez et al. 2016, §4.2",
    needs_linkage=False,
    attribute=ByAttribute(numbers=_numbers, labels=_labels, clusters=_clusters, drawn=_drawn),
    rank=30,
    words=((0.02, "close to the original"), (0.06, "changed in places"), (0.2, "clearly changed")),
)
