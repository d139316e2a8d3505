"""relative-error: |x − x'| / max(sanity bound, |x|), the bound a hundredth of the domain (001 §4.2).

For categories 001 takes the semantic distance, which lies between 0 and 1 already.
"""

from __future__ import annotations

import numpy as np

from coterie.columns.column import NumericColumn
from coterie.utility.clustered import Floats, Released, Whole, sanity_bound
from coterie.utility.measure import ByAttribute, Measure, Settings
from coterie.utility.semantic_distance import from_drawn, from_labels


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    denominator = np.maximum(sanity_bound(column), np.abs(column.values))
    return float(np.mean(np.abs(column.values - released) / denominator))


def _clusters(released: Released, settings: Settings) -> Floats:
    """Σ w|x − y| over a cluster is |y·Σw − Σwx| if y lies beyond it; else running sums are split where y falls."""
    clusters, values = released.clusters, released.values
    arranged, records = clusters.arranged, clusters.arranged.values.shape[1]
    if clusters.alone:
        error = np.einsum("arc,ac->ar", np.abs(released.gaps, out=released.room()), arranged.weights)
        return np.asarray(error / records, dtype=np.float64)
    weight, weighted = clusters.weighed
    error = np.multiply(values, weight[:, None], out=released.room())
    error -= weighted[:, None]
    np.abs(error, out=error)
    inside = values > clusters.lowest[:, None]
    inside &= values < clusters.highest[:, None]
    found = np.flatnonzero(inside)
    error.ravel()[found] = _among(released, found)
    return np.asarray(error.sum(axis=2) / records, dtype=np.float64)


def _among(released: Released, found: Whole) -> Floats:
    """The error of values that fall inside their clusters; `found` are their places among all values."""
    clusters = released.clusters
    _, rows, width = released.values.shape
    row = found // width
    cluster = found - row * width
    attribute = row // rows
    records = clusters.arranged.values.shape[1]
    start, size = clusters.starts[cluster], clusters.size[cluster]
    y = released.values.ravel()[found]
    split = _below(clusters.arranged.values.ravel(), start + attribute * records, size, y)
    # Running sums have one entry more than there are records: 0 for none of them.
    weight, weighted = (sums.ravel() for sums in clusters.arranged.running)
    split += attribute
    first = start + attribute * (records + 1)
    last = first + size
    error = y * (2 * weight[split] - (weight[first] + weight[last]))
    error -= 2 * weighted[split] - (weighted[first] + weighted[last])
    return error


def _below(values: Floats, start: Whole, size: Whole, wanted: Floats) -> Whole:
    """Bisection in many rising stretches at once: the first place of each with a value not below the wanted one."""
    while size.max(initial=0) > 1:
        half = size // 2
        start = start + half * (values[start + half - 1] < wanted)
        size = size - half
    return start + (values[start] < wanted)


MEASURE = Measure(
    name="relative-error",
    title="mean relative error",
    meaning="share by which a value is off (small ones count as 1/100 of the domain); for categories the semantic distance",
    papers="001 §4.2",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, labels=from_labels, clusters=_clusters, drawn=from_drawn),
    rank=20,
)
