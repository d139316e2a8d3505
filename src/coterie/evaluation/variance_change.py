"""variance-change: |σ² − σ'²| / σ² (Sánchez et al. 2016, §4.2, Table 1)."""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.schema.arrays import Floats
from coterie.table.columns.column import NumericColumn, alike, present, relative_change, variance_change


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    before, after = present(column.values), present(released)
    if min(len(before), len(after)) < 2:  # nearly all is missing
        return float(len(before) != len(after))
    return variance_change(before, after)


def _clusters(released: ReleasedNumbers, settings: Settings) -> Floats:
    numbers = released.clusters.numbers
    records = numbers.records.shape[1]
    # Around the original's mean: close enough to the release's own for the difference of squares to be exact.
    shift, squares = released.around_mean
    after = (squares - shift * shift / records) / (records - 1)
    if (numbers.variance <= 0).any():  # a constant attribute: any variance counts, even what rounding leaves
        after = np.where(alike(released.values), 0.0, after)
    return relative_change(numbers.variance, after)


MEASURE = Measure(
    name="variance-change",
    title="change of the variances",
    meaning="0: every attribute keeps its variance; 1: it doubled or vanished",
    papers="Sánchez et al. 2016, §4.2 and Table 1",
    needs_linkage=False,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters),
    rank=31,
)
