"""two-way: how far the table of every two attributes is from the original's, and which pairs are told worst."""

from __future__ import annotations

from coterie.evaluation.measure import Measure, MeasureResult, Pair, Settings
from coterie.evaluation.tables import UNWEIGHTED, Weights, distances

BINS = 8
MOST_PAIRS = 5000  # 100 attributes; of more, so many pairs are drawn


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    return of_pairs(pair, settings)


def of_pairs(
    pair: Pair, settings: Settings, weights: Weights = UNWEIGHTED, without: tuple[str, ...] = ()
) -> MeasureResult:
    """Records count by their weights, if there are any."""
    return distances(pair, settings, 2, bins=BINS, most=MOST_PAIRS, weights=weights, without=without)


MEASURE = Measure(
    name="two-way",
    title="distance of two-way tables",
    meaning="share of the records that would have to move for the table of two attributes to be right again, mean over all "
    "pairs; 0 is best, 1 the worst possible",
    papers="ours; total variation, as AIM and MST are compared",
    needs_linkage=False,
    table=_compute,
    rank=42,
    words=((0.08, "close to the original"), (0.2, "changed in places"), (0.4, "clearly changed")),
)
