"""sse-paper: the mean SSE exactly as 000 Eq. (5) and 003 Eq. (5) print it, distances divided by the variance.

(d/σ²)² has the unit 1/d²: measure an income in cents instead of euros and the figure falls by 10,000. Use it only to
compare with the papers.
"""

from __future__ import annotations

import numpy as np

from coterie.schema import Attribute
from coterie.utility.clustered import ClusteredColumn, Floats
from coterie.utility.mean_sse import by_record
from coterie.utility.measure import Measure, Settings, over_attributes


def _by_attribute(original: Floats, released: Floats, attribute: Attribute, settings: Settings) -> float:
    return float(_scaled(np.mean((released - original) ** 2), float(np.var(original, ddof=1))))


def _by_cluster(column: ClusteredColumn, values: Floats, settings: Settings) -> Floats:
    return _scaled(column.squared_error(values) / len(column.column.records), column.column.variance)


def _scaled(error: Floats | np.floating, variance: float) -> Floats:
    return np.asarray(error / variance**2 if variance > 0 else np.asarray(error) > 0, dtype=np.float64)


MEASURE = Measure(
    name="sse-paper",
    title="mean squared error as printed in 000 and 003",
    meaning="depends on the attributes' units, because the equation divides by σ² before squaring; lower is better",
    papers="000 Eq. (4)–(5), 003 Eq. (5)",
    needs_linkage=True,
    compute=over_attributes(_by_attribute, by_record),
    by_cluster=_by_cluster,
    combine=by_record,
    rank=11,
)
