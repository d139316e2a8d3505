"""sse: the mean SSE of Soria-Comas et al., Eq. (4)–(5), with σ for σ² and 1/m inside the root: the mean squared error in
variances, because √(1/m · Σ(d/σ)²)² averaged over records is the mean over attributes.

That is the reading under which the levels that Del Vasto-Terrientes et al. print come out (`coterie reproduce
fragmented-fig3`). The equation as printed is `sse-paper`.
"""

from __future__ import annotations

from coterie.evaluation.clustered import ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.schema.arrays import Floats
from coterie.table.columns.column import NumericColumn, in_variances, squared_error


def _numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    return squared_error(column.values, released)


def _clusters(released: ReleasedNumbers, settings: Settings) -> Floats:
    numbers = released.clusters.numbers
    return in_variances(released.squared_error / numbers.records.shape[1], numbers.variance, numbers.rounding)


MEASURE = Measure(
    name="sse",
    title="mean squared error, scale-free",
    meaning="the squared error in variances, averaged over the measured attributes; 0: no change; 1: as inaccurate as "
    "replacing every value by the mean",
    papers="Soria-Comas et al. (iDP), Eq. (5) and Del Vasto-Terrientes et al. (fragmented data), Eq. (5), with σ for σ² "
    "and 1/m inside the root",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_numbers, clusters=_clusters),
    rank=10,
)
