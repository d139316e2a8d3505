"""jensen-shannon: divergence between the histograms before and after, base 2, so between 0 and 1 (001 §4.2)."""

from __future__ import annotations

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
    if attribute.type is AttributeType.INTEGER and bins == int(domain.width) + 1:
        place = np.rint(values - domain.lower)
    else:
        place = np.floor((values - domain.lower) / (domain.upper - domain.lower) * bins)
    return np.clip(place, 0, bins - 1).astype(np.int64)


def divergence(p: Floats, q: Floats) -> Floats:
    """JSD along the last axis; p and q sum to 1 there."""
    middle = (p + q) / 2
    return np.maximum(0.0, (_information(p, middle) + _information(q, middle)) / 2)


def _information(p: Floats, middle: Floats) -> Floats:
    ratio = np.divide(p, middle, out=np.ones(np.broadcast_shapes(p.shape, middle.shape)), where=p > 0)
    return np.asarray(np.sum(p * np.log2(ratio), axis=-1), dtype=np.float64)


def _by_attribute(original: Floats, released: Floats, attribute: Attribute, settings: Settings) -> float:
    bins = bin_count(attribute, settings)
    shares = [
        np.bincount(bin_numbers(column, attribute, bins), minlength=bins) / len(column)
        for column in (original, released)
    ]
    return float(divergence(*shares))


def _by_cluster(column: ClusteredColumn, values: Floats, settings: Settings) -> Floats:
    base = column.column
    attribute = base.attribute
    bins = bin_count(attribute, settings)
    if bins not in base.histograms:
        original = np.bincount(bin_numbers(base.records, attribute, bins), minlength=bins)
        base.histograms[bins] = original / len(base.records)
    runs = len(values)
    place = bin_numbers(values, attribute, bins) + bins * np.arange(runs)[:, None]
    weights = np.broadcast_to(column.size, values.shape).ravel()
    counts = np.bincount(place.ravel(), weights=weights, minlength=bins * runs)
    return divergence(base.histograms[bins], counts.reshape(runs, bins) / len(base.records))


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
