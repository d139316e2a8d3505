"""sse-matched: squared distance between the sorted columns, in variances: the error of each distribution alone.

The i-th smallest released value is held against the i-th smallest original one (the squared Wasserstein distance), so it
needs no linkage and serves synthetic rows as well.
"""

from __future__ import annotations

import numpy as np

from coterie.columns.column import NumericColumn
from coterie.utility.clustered import ClusteredColumn, Floats
from coterie.utility.mean_sse import by_record, scaled
from coterie.utility.measure import ByAttribute, Measure, Settings


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    error = np.mean((np.sort(released) - np.sort(column.values)) ** 2)
    return float(scaled(error, float(np.var(column.values, ddof=1))))


def _clusters(column: ClusteredColumn, values: Floats, settings: Settings) -> Floats:
    """Sorted clusters cover stretches of the ordered column: Σ(x − y)² = Σx² − Σ y(2Σx − size·y), around the mean."""
    base = column.column
    centre = float(np.mean(base.records))
    centred = base.ordered - centre
    if column.alone:
        error = np.array([np.sum((np.sort(row) - base.ordered) ** 2) for row in values])
    else:
        running = np.concatenate(([0.0], np.cumsum(centred)))
        order = np.argsort(values, axis=1, kind="stable")
        released = np.take_along_axis(values, order, axis=1) - centre
        size = column.summary.size[order]
        ends = np.cumsum(size, axis=1)
        inside = running[ends] - running[ends - size]
        error = np.sum(centred**2) - np.sum(released * (2 * inside - size * released), axis=1)
    return scaled(np.maximum(error, 0.0) / len(base.records), base.variance)


MEASURE = Measure(
    name="sse-matched",
    title="squared error of each distribution",
    meaning="as sse, with values matched by rank instead of by row: the mean over the m measured attributes in variances, "
    "divided by m once more; 0 is the same distribution",
    papers="none of them; it needs no linkage",
    needs_linkage=False,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters, combine=by_record),
    rank=13,
)
