"""two-way: how far the table of every two attributes is from the original's, and which pairs are least accurate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.evaluation.strength import association, sides
from coterie.evaluation.tables import UNWEIGHTED, Weights, distances
from coterie.schema.arrays import Floats

BINS = 8
MOST_PAIRS = 5000  # 100 attributes; of more, so many pairs are drawn


def of_pairs(
    pair: Pair, settings: Settings, weights: Weights = UNWEIGHTED, without: tuple[str, ...] = ()
) -> MeasureResult:
    """Records count by their weights, if there are any."""
    return distances(pair, settings, 2, bins=BINS, most=MOST_PAIRS, weights=weights, without=without)


def associations(pair: Pair, names: Sequence[str]) -> tuple[Floats, Floats]:
    """How strongly every two attributes are associated, before and after: from 0 (not at all) to 1."""
    known = {name: sides(pair, name, (slice(None), slice(None))) for name in names}
    found = np.eye(len(names)), np.eye(len(names))
    for (one, first), (other, second) in combinations(enumerate(names), 2):
        for side, matrix in enumerate(found):
            value = abs(association(known[first][side], known[second][side], None).value)
            matrix[one, other] = matrix[other, one] = value
    return found


MEASURE = Measure(
    name="two-way",
    title="distance of two-way tables",
    meaning="share of the records that would have to move for the table of two attributes to be right again, mean over all "
    "pairs; 0 is best, 1 the worst possible",
    papers="ours; total variation, as AIM and MST are compared",
    needs_linkage=False,
    table=of_pairs,
    rank=42,
    words=((0.08, "close to the original"), (0.2, "changed in places"), (0.4, "clearly changed")),
)
