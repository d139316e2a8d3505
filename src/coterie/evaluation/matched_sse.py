"""sse-matched: squared distance between the sorted columns, in variances: the error of each distribution alone.

The i-th smallest released value is compared with the i-th smallest original one (the squared Wasserstein distance), so it
needs no linkage and serves synthetic rows as well.
"""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.schema.arrays import Floats
from coterie.table.columns.column import NumericColumn, in_variances, present, squared_error


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    before, after = np.sort(present(column.values)), np.sort(present(released))
    if not (len(before) and len(after)):  # all is missing
        return float(len(before) != len(after))
    if len(before) != len(after):  # the value at the same share of each
        after = after[((np.arange(len(before)) + 0.5) * (len(after) / len(before))).astype(np.int64)]
    return squared_error(before, after)


def _clusters(released: ReleasedNumbers, settings: Settings) -> Floats:
    """Sorted clusters cover stretches of the ordered column: Σ(x − y)² = Σx² − Σ y(2Σx − size·y), around the mean."""
    clusters, numbers = released.clusters, released.clusters.numbers
    if clusters.alone:
        values = released.values
        if (values[:, :, 1:] < values[:, :, :-1]).any():  # synthetic values come in order
            values = np.sort(values, axis=2)
        gaps = values - numbers.ordered[:, None]
        error = np.einsum("arc,arc->ar", gaps, gaps)
    else:
        centred = numbers.ordered - numbers.mean
        running = np.zeros((len(centred), centred.shape[1] + 1))
        np.cumsum(centred, axis=1, out=running[:, 1:])
        order = np.argsort(released.values, axis=2, kind="stable")
        values = np.take_along_axis(released.values, order, axis=2) - numbers.mean[:, None]
        size = clusters.size[order]
        ends = np.cumsum(size, axis=2)
        attribute = np.arange(len(centred))[:, None, None]
        inside = running[attribute, ends] - running[attribute, ends - size]
        error = np.sum(centred**2, axis=1)[:, None] - np.sum(values * (2 * inside - size * values), axis=2)
    error = np.maximum(error, 0.0) / numbers.records.shape[1]
    return in_variances(error, numbers.variance, numbers.rounding)


MEASURE = Measure(
    name="sse-matched",
    title="squared error of each distribution",
    meaning="as sse, with values matched by rank instead of by row: the mean over the measured attributes in variances; "
    "0 is the same distribution",
    papers="ours; it needs no linkage",
    needs_linkage=False,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters),
    rank=13,
    costly=True,
)
