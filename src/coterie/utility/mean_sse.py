"""sse: the mean SSE of 000 Eq. (4)–(5) made scale-free: each distance is divided by σ, not by σ²."""

from __future__ import annotations

import numpy as np

from coterie.schema import Attribute
from coterie.utility.clustered import ClusteredColumn, Floats
from coterie.utility.measure import Measure, Settings, over_attributes


def error_in_variances(original: Floats, released: Floats, attribute: Attribute, settings: Settings) -> float:
    return float(_scaled(np.mean((released - original) ** 2), float(np.var(original, ddof=1))))


def _by_cluster(column: ClusteredColumn, values: Floats, settings: Settings) -> Floats:
    return _scaled(column.squared_error(values) / len(column.column.records), column.column.variance)


def _scaled(error: Floats | np.floating, variance: float) -> Floats:
    """A constant attribute has no variance to measure by: any error counts as 1."""
    return np.asarray(error / variance if variance > 0 else np.asarray(error) > 0, dtype=np.float64)


def by_record(values: Floats) -> Floats:
    """(1/m · √Σ(d/σ)²)² averaged over records is Σ(…)/m²: Eq. (5) has 1/m outside its root."""
    return np.asarray(np.sum(values, axis=0) / len(values) ** 2, dtype=np.float64)


MEASURE = Measure(
    name="sse",
    title="mean squared error, scale-free",
    meaning=(
        "000 Eq. (5) with σ instead of σ²; for each attribute, the mean squared error in units of its variance: "
        "0 is no change, 1 is as far off as publishing the attribute's mean for everybody"
    ),
    papers="000 Eq. (4)–(5) made independent of units",
    needs_linkage=True,
    compute=over_attributes(error_in_variances, by_record),
    by_cluster=_by_cluster,
    combine=by_record,
    rank=10,
)
