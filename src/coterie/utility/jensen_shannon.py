"""jensen-shannon: divergence between the histograms before and after, base 2, so between 0 and 1 (001 §4.2)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema import Attribute, AttributeType
from coterie.utility.clustered import ClusteredColumn, Floats
from coterie.utility.measure import Measure, Settings, mean_of_attributes, over_attributes

STRIPES = 100  # 001: continuous attributes, bins of 1/100 of the domain
MOST_VALUES = 256  # "auto": up to so many possible values, one bin each; above, stripes
MOST_BINS = 1_000_000


def bin_count(attribute: Attribute, settings: Settings) -> int:
    """How many bins; one a value only where values are whole numbers."""
    if settings.bins not in ("auto", "domain", "value"):
        raise ParameterError(f"There are no bins of kind '{settings.bins}'.", "Choose auto, domain or value.")
    whole = attribute.type is AttributeType.INTEGER
    possible = int(attribute.bounds().width) + 1 if whole else 0
    if settings.bins == "value":
        if not whole or possible > MOST_BINS:
            raise ParameterError(
                f"Attribute '{attribute.name}' cannot have one bin a value.",
                f"Use --bins domain: it is continuous, or has more than {MOST_BINS:,} possible values.",
            )
        return possible
    if settings.bins == "auto" and whole and possible <= MOST_VALUES:
        return possible
    return STRIPES


def bin_numbers(values: Floats, attribute: Attribute, bins: int) -> NDArray[np.int64]:
    """Which bin each value is in. Values outside the domain count in the outermost bins."""
    domain = attribute.bounds()
    place = values - domain.lower
    if attribute.type is AttributeType.INTEGER and bins == int(domain.width) + 1:
        place = np.rint(place)
    else:
        place *= bins / (domain.upper - domain.lower)
    # The conversion to whole numbers cuts towards zero, which after clipping is the floor.
    return np.clip(place, 0, bins - 1, out=place).astype(np.int64)


def divergence(before: NDArray[np.int64], after: NDArray[np.int64], records: int) -> Floats:
    """JSD of two histograms of `records` values each, along the last axis.

    With f(c) = c·log2 c, H(a/n) = log2 n − Σf(a)/n, so JSD = 1 + (Σf(a) + Σf(b) − Σf(a + b))/2n: counts are whole
    numbers, and a table of f spares a logarithm a bin.
    """
    f = _count_times_log(2 * records)
    total = f[before].sum(axis=-1) + f[after].sum(axis=-1) - f[before + after].sum(axis=-1)
    return np.clip(1 + total / (2 * records), 0.0, 1.0)


@lru_cache(maxsize=4)
def _count_times_log(largest: int) -> Floats:
    counts = np.arange(largest + 1, dtype=np.float64)
    counts[1:] *= np.log2(counts[1:])
    return counts


def _by_attribute(original: Floats, released: Floats, attribute: Attribute, settings: Settings) -> float:
    bins = bin_count(attribute, settings)
    before, after = (
        np.bincount(bin_numbers(column, attribute, bins), minlength=bins) for column in (original, released)
    )
    return float(divergence(before, after, len(original)))


def _by_cluster(column: ClusteredColumn, values: Floats, settings: Settings) -> Floats:
    base = column.column
    attribute = base.attribute
    bins = bin_count(attribute, settings)
    if bins not in base.histograms:
        base.histograms[bins] = np.bincount(bin_numbers(base.records, attribute, bins), minlength=bins)
    runs = len(values)
    place = bin_numbers(values, attribute, bins)
    place += bins * np.arange(runs)[:, None]
    weights = None if column.alone else np.broadcast_to(column.size, values.shape).ravel()
    counts = np.bincount(place.ravel(), weights=weights, minlength=bins * runs)
    return divergence(
        base.histograms[bins], counts.reshape(runs, bins).astype(np.int64), len(base.records)
    )


MEASURE = Measure(
    name="jensen-shannon",
    title="Jensen–Shannon divergence of the distributions",
    meaning="0: the same histogram; 1: nothing in common. Bins of 1/100 of the domain, or one bin a value",
    papers="001 §4.2",
    needs_linkage=False,
    compute=over_attributes(_by_attribute),
    by_cluster=_by_cluster,
    combine=mean_of_attributes,
    rank=30,
)
