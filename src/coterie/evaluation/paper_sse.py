"""sse-paper: the mean SSE exactly as 000 Eq. (5) and 003 Eq. (5) print it, distances divided by the variance.

(d/σ²)² has the unit 1/d²: measure an income in cents instead of euros and the figure falls by 10,000. Use it only to
compare with the papers.
"""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import Floats
from coterie.evaluation.mean_sse import by_record, scaled
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.evaluation.released import Released
from coterie.evaluation.spread import rounding, variance
from coterie.table.columns.column import NumericColumn


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    error = np.mean((released - column.values) ** 2)
    return float(_twice(error, float(variance(column.values)), rounding(column.values)))


def _clusters(released: Released, settings: Settings) -> Floats:
    numbers = released.clusters.numbers
    return _twice(released.squared_error / numbers.records.shape[1], numbers.variance, numbers.rounding)


def _twice(error: Floats | np.floating, variance: Floats | float, rounding: Floats) -> Floats:
    """One division after the other: the square of a variance of 1e160 is no double."""
    return scaled(scaled(error, variance, rounding), variance)


MEASURE = Measure(
    name="sse-paper",
    title="mean squared error as printed in 000 and 003",
    meaning="depends on units, because the equation divides by σ² before squaring; lower is better",
    papers="000 Eq. (4)–(5), 003 Eq. (5)",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters, from_sums=True, combine=by_record),
    rank=11,
)
