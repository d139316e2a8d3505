"""three-way: how far the tables of three attributes are from the original's, and which tables are least accurate."""

from __future__ import annotations

from functools import partial

from coterie.evaluation.measure import Measure
from coterie.evaluation.tables import distances

BINS, MOST_LABELS = 4, 12  # coarser than two-way: three ways have many cells
MOST_TABLES = 400  # of more, so many are drawn


MEASURE = Measure(
    name="three-way",
    title="distance of three-way tables",
    meaning="as two-way, for three attributes at a time; numbers in quarters, rare labels together",
    papers="ours; total variation",
    needs_linkage=False,
    table=partial(distances, ways=3, bins=BINS, most=MOST_TABLES, most_labels=MOST_LABELS),
    rank=43,
    words=((0.08, "close to the original"), (0.2, "changed in places"), (0.4, "clearly changed")),
)
