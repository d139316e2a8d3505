"""median-shift: how far the median of an attribute moved, as a share of its domain."""

from __future__ import annotations

import numpy as np

from coterie.extend import ByAttribute, Floats, Measure, NumericColumn, Settings


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
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
