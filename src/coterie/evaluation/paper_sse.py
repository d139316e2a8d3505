"""sse-paper: the mean SSE exactly as Soria-Comas et al., Eq. (5) and Del Vasto-Terrientes et al., Eq. (5) print it,
distances divided by the variance.

(d/σ²)² has the unit 1/d²: measure an income in cents instead of euros and the figure falls by 10,000. Use it only to
compare with the papers.
"""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.schema.arrays import Floats
from coterie.table.columns.column import NumericColumn, in_variances, spread, squared_error


def as_printed(values: Floats) -> Floats:
    """(1/m · √Σ(d/σ²)²)² averaged over records is Σ(…)/m²: the equation has its 1/m outside the root."""
    return np.asarray(np.sum(values, axis=0) / len(values) ** 2, dtype=np.float64)


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    once = squared_error(column.values, released)
    return float(in_variances(np.float64(once), spread(column.values)))


def _clusters(released: ReleasedNumbers, settings: Settings) -> Floats:
    numbers = released.clusters.numbers
    error = released.squared_error / numbers.records.shape[1]
    # One division after the other: the square of a variance of 1e160 overflows.
    return in_variances(in_variances(error, numbers.variance, numbers.rounding), numbers.variance)


MEASURE = Measure(
    name="sse-paper",
    title="mean squared error exactly as the papers print it",
    meaning="depends on units, because the equation divides by σ² before squaring; lower is better",
    papers="Soria-Comas et al. (iDP), Eq. (5); Del Vasto-Terrientes et al. (fragmented data), Eq. (5)",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters, combine=as_printed),
    rank=11,
)
