"""sse: the mean SSE of 000 Eq. (4)–(5) made scale-free: each distance is divided by σ, not by σ²."""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import Floats
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.evaluation.released import Released
from coterie.evaluation.spread import rounding, variance
from coterie.table.columns.column import NumericColumn


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    error = np.mean((released - column.values) ** 2)
    return float(scaled(error, float(variance(column.values)), rounding(column.values)))


def _clusters(released: Released, settings: Settings) -> Floats:
    numbers = released.clusters.numbers
    return scaled(released.squared_error / numbers.records.shape[1], numbers.variance, numbers.rounding)


def scaled(error: Floats | np.floating, variance: Floats | float, rounding: Floats | float = 0.0) -> Floats:
    """A constant attribute has no variance to measure by: any error beyond `rounding` counts as 1."""
    constant = np.asarray(variance) <= 0
    if not constant.any():
        return np.asarray(error / variance, np.float64)
    return np.asarray(
        np.where(constant, error > rounding, error / np.where(constant, 1.0, variance)), np.float64
    )


def by_record(values: Floats) -> Floats:
    """(1/m · √Σ(d/σ)²)² averaged over records is Σ(…)/m²: Eq. (5) has its 1/m outside the root."""
    return np.asarray(np.sum(values, axis=0) / len(values) ** 2, dtype=np.float64)


MEASURE = Measure(
    name="sse",
    title="mean squared error of Eq. (5), scale-free",
    meaning="000 Eq. (5) with σ for σ²: the mean over the m measured attributes of the squared error in variances, divided "
    "by m once more; 0 no change, 1/m as bad as publishing the means (of one attribute alone: 1)",
    papers="000 Eq. (4)–(5) made independent of units",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters, from_sums=True, combine=by_record),
    rank=10,
)
