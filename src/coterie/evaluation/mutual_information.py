"""mutual-information: as associations, but for dependence of any form, linear or not."""

from __future__ import annotations

from functools import partial

from coterie.evaluation.associations import KEPT
from coterie.evaluation.measure import Measure
from coterie.evaluation.strength import information, strength_kept

MEASURE = Measure(
    name="mutual-information",
    title="mutual information that is lost",
    meaning="as associations, by the mutual information of every pair as a coefficient from 0 to 1: it also sees relations "
    "that no correlation sees, and whose values are missing",
    papers="ours; coefficient of Linfoot 1957",
    needs_linkage=False,
    table=partial(strength_kept, of=information),
    rank=45,
    words=KEPT,
)
