"""sse: the mean SSE of Soria-Comas et al., Eq. (4)–(5) made scale-free: each distance is divided by σ, not by σ²."""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.schema.arrays import Floats
from coterie.table.columns.column import NumericColumn, in_variances, squared_error


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    return squared_error(column.values, released)


def _clusters(released: ReleasedNumbers, settings: Settings) -> Floats:
    numbers = released.clusters.numbers
    return in_variances(released.squared_error / numbers.records.shape[1], numbers.variance, numbers.rounding)


def by_record(values: Floats) -> Floats:
    """(1/m · √Σ(d/σ)²)² averaged over records is Σ(…)/m²: Eq. (5) has its 1/m outside the root."""
    return np.asarray(np.sum(values, axis=0) / len(values) ** 2, dtype=np.float64)


MEASURE = Measure(
    name="sse",
    title="mean squared error, scale-free",
    meaning="the squared error in variances, averaged over the m measured attributes and divided by m once more; "
    "0: no change; 1/m (1 for a single attribute): as inaccurate as replacing every value by the mean",
    papers="Soria-Comas et al. (iDP), Eq. (5), with σ for σ²",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters, combine=by_record),
    rank=10,
)
