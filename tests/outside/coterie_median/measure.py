"""median-shift: how far the median of an attribute moved, as a share of its domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.table.columns.column import NumericColumn


def _numbers(column: NumericColumn, released: NDArray[np.float64], settings: Settings) -> float:
    moved = abs(float(np.median(released)) - float(np.median(column.values)))
    return moved / float(column.domain.width)


MEASURE = Measure(
    name="median-shift",
    title="shift of the median",
    meaning="share of the domain by which the median moved; 0 is best",
    papers="an example",
    needs_linkage=False,
    attribute=ByAttribute(numbers=_numbers),
    rank=90,
)
