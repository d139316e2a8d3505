"""variance-change: |σ² − σ'²| / σ² (001 §4.2, Table 1)."""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import Floats
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.evaluation.released import Released
from coterie.evaluation.spread import alike, variance
from coterie.table.columns.column import NumericColumn


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    after = np.where(alike(released), 0.0, variance(released))
    return float(_change(variance(column.values), after))


def _clusters(released: Released, settings: Settings) -> Floats:
    numbers = released.clusters.numbers
    records = numbers.records.shape[1]
    # Around the original's mean: close enough to the release's own for the difference of squares to be exact.
    shift, squares = released.around_mean
    after = (squares - shift * shift / records) / (records - 1)
    if numbers.some_constant:  # then any variance counts, even what rounding leaves
        after = np.where(alike(released.values), 0.0, after)
    return _change(numbers.variance, after)


def _change(before: Floats, after: Floats) -> Floats:
    """A constant attribute that is constant no more counts as a change of 1."""
    constant = before <= 0
    if not constant.any():
        return np.asarray(np.abs(before - after) / before, dtype=np.float64)
    changed = np.abs(before - after) / np.where(constant, 1.0, before)
    return np.asarray(np.where(constant, after > 0, changed), dtype=np.float64)


MEASURE = Measure(
    name="variance-change",
    title="change of the variances",
    meaning="0: every attribute keeps its variance; 1: it doubled or vanished",
    papers="001 §4.2 and Table 1",
    needs_linkage=False,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters, from_sums=True),
    rank=31,
)
