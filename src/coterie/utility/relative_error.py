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
        error = np.einsum("arc,ac->ar", np.abs(released.gaps), arranged.weights)
        return np.asarray(error / records, dtype=np.float64)
    weight, weighted = arranged.running
    starts, ends = clusters.starts, clusters.ends
    error = values * (weight[:, ends] - weight[:, starts])[:, None]
    error -= (weighted[:, ends] - weighted[:, starts])[:, None]
    np.abs(error, out=error)
    inside = (values > clusters.lowest[:, None]) & (values < clusters.highest[:, None])
    found = np.flatnonzero(inside)
    attribute, cluster = found // inside[0].size, found % inside.shape[2]
    y, start, end = values.ravel()[found], starts[cluster], ends[cluster]
    split = _first_not_below(arranged.values, attribute, start, end, y)
    among = y * (2 * weight[attribute, split] - (weight[attribute, start] + weight[attribute, end]))
    among -= 2 * weighted[attribute, split] - (weighted[attribute, start] + weighted[attribute, end])
    error.ravel()[found] = among
    return np.asarray(error.sum(axis=2) / records, dtype=np.float64)


def _first_not_below(arranged: Floats, attribute: Whole, start: Whole, end: Whole, wanted: Floats) -> Whole:
    """Bisection in many rising stretches at once: the first place of each with a value not below the wanted one."""
    flat, last = arranged.ravel(), arranged.shape[1] - 1
    found, offset = start.copy(), attribute * arranged.shape[1]
    step = 1 << int((end - start).max(initial=0)).bit_length()
    while step := step >> 1:
        ahead = found + step
        below = flat[offset + np.minimum(ahead - 1, last)] < wanted
        found += step * (below & (ahead <= end))
    return found


MEASURE = Measure(
    name="relative-error",
    title="mean relative error",
    meaning="share by which a value is off (small ones count as 1/100 of the domain); for categories the semantic distance",
    papers="001 §4.2",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, labels=from_labels, clusters=_clusters, drawn=from_drawn),
    rank=20,
)
