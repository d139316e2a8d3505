"""relative-error: |x − x'| / max(sanity bound, |x|), the bound a hundredth of the domain (Sánchez et al. 2016, §4.2).

For categories Sánchez et al. 2016 takes the semantic distance, which lies between 0 and 1 already. Of dates and ranks
Sánchez et al. 2016 says nothing: their zero is arbitrary (1970, the lowest label), so their errors are shares of the
domain.
"""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import OriginalNumbers, ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.evaluation.semantic_distance import from_drawn, from_labels
from coterie.schema.arrays import Floats, Whole
from coterie.table.columns.column import NumericColumn, missed


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    units = OriginalNumbers.of([column]).error_unit(column.values[None])[0]
    errors = np.abs(column.values - released) / units
    return float(np.mean(missed(errors, column.values, released, 1.0)))


def _clusters(released: ReleasedNumbers, settings: Settings) -> Floats:
    """Σ w|x − y| over a cluster is |y·Σw − Σwx| if y lies beyond it; else running sums are split where y falls."""
    clusters = released.clusters
    arranged, records = clusters.arranged, clusters.arranged.values.shape[1]
    values = released.values
    if clusters.alone:
        error = np.einsum("arc,ac->ar", np.abs(released.gaps), arranged.weights)
        return np.asarray(error / records, dtype=np.float64)
    before, upto, before_x, upto_x = clusters.weighed
    weight = upto - before
    error = values * weight[:, None]
    error -= (upto_x - before_x + clusters.numbers.mean * weight)[:, None]
    np.abs(error, out=error)
    inside = values > clusters.lowest[:, None]
    inside &= values < clusters.highest[:, None]
    found = inside.ravel().nonzero()[0]
    error.ravel()[found] = _among(released, found)
    return np.asarray(error.sum(axis=2) / records, dtype=np.float64)


def _among(released: ReleasedNumbers, found: Whole) -> Floats:
    """The error of values that fall inside their clusters; `found` are their places among all values."""
    clusters = released.clusters
    attributes, rows, width = released.values.shape
    row = found // width
    cluster = found - row * width
    start = clusters.starts.take(cluster)
    size = clusters.size.take(cluster) if len(clusters.unusual) else clusters.usual
    if attributes > 1:
        attribute = row // rows
        cluster += attribute * width
        start += attribute * clusters.arranged.values.shape[1]
    y = released.values.ravel().take(found)
    # The last record below y: the cluster's first one is.
    split = _last_below(clusters.arranged.values.ravel(), start, size, y)
    weight, weighted = (2 * sums.ravel().take(split) for sums in clusters.arranged.running)
    before, upto, before_x, upto_x = clusters.weighed
    weight -= (before + upto).ravel().take(cluster)
    weighted -= (before_x + upto_x).ravel().take(cluster)
    y -= clusters.numbers.mean[:, 0].take(row // rows) if attributes > 1 else clusters.numbers.mean.item()
    weight *= y
    weight -= weighted
    return weight


def _last_below(values: Floats, start: Whole, size: Whole | int, wanted: Floats) -> Whole:
    """Bisection in many rising stretches at once, whose first values are below the wanted ones."""
    while np.max(size, initial=0) > 1:
        half = size // 2
        ahead = start + half
        start = np.where(values.take(ahead) < wanted, ahead, start)
        size = size - half
    return start


MEASURE = Measure(
    name="relative-error",
    title="mean relative error",
    meaning="share by which a value is off (small ones count as 1/100 of the domain); of dates and ranks, whose zero is "
    "arbitrary, the share of the domain; of categories the semantic distance",
    papers="Sánchez et al. 2016, §4.2",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, labels=from_labels, clusters=_clusters, drawn=from_drawn),
    rank=20,
)
