"""mutual-information: as associations, by what each attribute tells about the other in any way, straight or bent."""

from __future__ import annotations

from coterie.evaluation.associations import KEPT
from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.evaluation.strength import information, strength_kept


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    return strength_kept(pair, settings, information)


MEASURE = Measure(
    name="mutual-information",
    title="mutual information that is lost",
    meaning="as associations, by the mutual information of every pair as a coefficient from 0 to 1: it also sees relations "
    "that no correlation sees, and whose values are missing",
    papers="ours; coefficient of Linfoot 1957",
    needs_linkage=False,
    table=_compute,
    rank=45,
    words=KEPT,
)
