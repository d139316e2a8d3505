"""relative-error: |x − x'| / max(sanity bound, |x|), the bound a hundredth of the domain (001 §4.2).

For categories 001 takes the semantic distance, which lies between 0 and 1 already.
"""

from __future__ import annotations

import numpy as np

from coterie.columns.column import NumericColumn
from coterie.utility.clustered import ClusteredColumn, Floats, sanity_bound
from coterie.utility.measure import ByAttribute, Measure, Settings
from coterie.utility.semantic_distance import from_drawn, from_labels


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    denominator = np.maximum(sanity_bound(column), np.abs(column.values))
    return float(np.mean(np.abs(column.values - released) / denominator))


def _clusters(column: ClusteredColumn, values: Floats, settings: Settings) -> Floats:
    base = column.column
    if column.alone or column.labels is not None:
        error, gap = np.empty(len(values)), np.empty(len(base.records))
        for run, released in enumerate(values):
            np.subtract(released if column.labels is None else released[column.labels], base.records, out=gap)
            np.abs(gap, out=gap)
            error[run] = np.multiply(gap, base.weights, out=gap).sum()
        return error / len(base.records)
    # Σ w|x − y| over a rising stretch splits at y into two differences of running sums. A value beyond its cluster
    # splits it at an end; only the others are searched for, and ties with neighbouring clusters cannot mislead.
    ends = column.ends
    starts = ends - column.summary.size
    lowest, highest = base.ordered[starts], base.ordered[ends - 1]
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
    meaning="share by which a value is off (small ones count as 1/100 of the domain); for categories the semantic distance",
    papers="001 §4.2",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, labels=from_labels, clusters=_clusters, drawn=from_drawn),
    rank=20,
)
