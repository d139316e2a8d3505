"""sse-sum: the SSE of Sánchez et al. (univariate), §5, summed over records and attributes and divided by the number of
attributes."""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.schema.arrays import Floats
from coterie.table.columns.column import NumericColumn, squared_errors


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    return float(np.sum(squared_errors(column.values, released)))


def _clusters(released: ReleasedNumbers, settings: Settings) -> Floats:
    return released.squared_error


SUMMED_SQUARES = ByAttribute(numbers=_numbers, clusters=_clusters)
MEASURE = Measure(
    name="sse-sum",
    title="sum of squared errors",
    meaning="grows with the number of records and with units; lower is better",
    papers="Sánchez et al. (univariate), §5",
    needs_linkage=True,
    attribute=SUMMED_SQUARES,
    rank=12,
)
