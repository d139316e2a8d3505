"""relative-error: |x − x'| / max(sanity bound, |x|), the bound a hundredth of the domain (001 §4.2)."""

from __future__ import annotations

import numpy as np

from coterie.schema import Attribute
from coterie.utility.clustered import ClusteredColumn, Floats, sanity_bound
from coterie.utility.measure import Measure, Settings, mean_of_attributes, over_attributes


def _by_attribute(original: Floats, released: Floats, attribute: Attribute, settings: Settings) -> float:
    denominator = np.maximum(sanity_bound(attribute), np.abs(original))
    return float(np.mean(np.abs(original - released) / denominator))


def _by_cluster(column: ClusteredColumn, values: Floats, settings: Settings) -> Floats:
    base = column.column
    if column.alone:
        denominator = np.maximum(sanity_bound(base.attribute), np.abs(base.records))
        return np.asarray(np.mean(np.abs(values - base.records) / denominator, axis=1), dtype=np.float64)
    # Σ w|x − y| over a rising stretch splits at y into two differences of running sums. A value beyond its cluster
    # splits it at an end; only the others are searched for, and ties with neighbouring clusters cannot mislead.
    ends = column.ends
    starts = ends - column.summary.size
    lowest, highest = column.summary.low[:, 0], column.summary.high[:, 0]
    split = np.where(values > highest, ends, starts)
    inside = (values > lowest) & (values <= highest)
    split[inside] = np.searchsorted(base.ordered, values[inside])
    weight, weighted = base.running
    error = values * (2 * weight[split] - (weight[starts] + weight[ends]))
    error -= 2 * weighted[split] - (weighted[starts] + weighted[ends])
    return np.asarray(np.sum(error, axis=1) / len(base.records), dtype=np.float64)


MEASURE = Measure(
    name="relative-error",
    title="mean relative error",
    meaning="share of each value that the release is off by, small values counted as a hundredth of the domain; 0 is best",
    papers="001 §4.2",
    needs_linkage=True,
    compute=over_attributes(_by_attribute),
    by_cluster=_by_cluster,
    combine=mean_of_attributes,
    rank=20,
)
