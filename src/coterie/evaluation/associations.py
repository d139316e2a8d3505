"""associations: how much of the strength of all relations is lost or invented, for every pair of types."""

from __future__ import annotations

from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.evaluation.strength import association, strength_kept
from coterie.evaluation.tables import UNWEIGHTED, Weights

KEPT = ((0.15, "kept"), (0.35, "weakened"), (0.6, "mostly lost"))


def of_pairs(
    pair: Pair, settings: Settings, weights: Weights = UNWEIGHTED, without: tuple[str, ...] = ()
) -> MeasureResult:
    """Records count by their weights, if there are any."""
    return strength_kept(pair, settings, association, weights, without)


MEASURE = Measure(
    name="associations",
    title="strength of relations that is lost",
    meaning="which share of the strength of all relations is lost or invented, over pairs related by 0.1 or more before or "
    "after: correlation, Cramér's V or correlation ratio; 0 is best, 1 the worst possible",
    papers="ours",
    needs_linkage=False,
    table=of_pairs,
    rank=44,
    words=KEPT,
)
