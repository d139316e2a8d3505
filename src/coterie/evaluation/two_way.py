"""two-way: how far the table of every two attributes is from the original's, and which pairs are told worst."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from coterie.evaluation.measure import Measure, MeasureResult, Pair, Settings
from coterie.evaluation.strength import association, sides
from coterie.evaluation.tables import UNWEIGHTED, Weights, distances
from coterie.schema.arrays import Floats

BINS = 8
MOST_PAIRS = 5000  # 100 attributes; of more, so many pairs are drawn


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    return of_pairs(pair, settings)


def of_pairs(
    pair: Pair, settings: Settings, weights: Weights = UNWEIGHTED, without: tuple[str, ...] = ()
) -> MeasureResult:
    """Records count by their weights, if there are any."""
    return distances(pair, settings, 2, bins=BINS, most=MOST_PAIRS, weights=weights, without=without)


def associations(pair: Pair, names: Sequence[str]) -> tuple[Floats, Floats]:
    """How strongly every two attributes go together, before and after: 0 is not at all, 1 is as one."""
    known = {name: sides(pair, name, (slice(None), slice(None))) for name in names}
    found = np.eye(len(names)), np.eye(len(names))
    for (one, first), (other, second) in combinations(enumerate(names), 2):
        for side, matrix in enumerate(found):
            value = abs(association(known[first][side], known[second][side], None).value)
            matrix[one, other] = matrix[other, one] = value
    return found


def associations(pair: Pair, names: Sequence[str]) -> tuple[Floats, Floats]:
    """How much one attribute tells about another, before and after: 0 is nothing, 1 is everything.

    Cramér's V of the same cells, corrected for the number of records (Bergsma 2013), so that chance alone gives 0.
    """
    cells = {name: _cells(pair.original[name], pair.released[name]) for name in names}
    found = np.eye(len(names)), np.eye(len(names))
    for (one, first), (other, second) in combinations(enumerate(names), 2):
        for side, matrix in enumerate(found):
            value = _association(cells[first][side], cells[second][side])
            matrix[one, other] = matrix[other, one] = value
    return found


def _association(one: Whole, other: Whole) -> float:
    records = len(one)
    _, one = np.unique(one, return_inverse=True)
    _, other = np.unique(other, return_inverse=True)
    rows, columns = (int(codes.max(initial=0)) + 1 for codes in (one, other))
    if min(rows, columns) < 2 or records < 2:
        return 0.0
    by_row, by_column = np.bincount(one).astype(np.float64), np.bincount(other).astype(np.float64)
    pairs, counts = np.unique(one.astype(np.int64) * columns + other, return_counts=True)
    expected = by_row[pairs // columns] * by_column[pairs % columns] / records
    spread = float(np.sum(counts**2 / expected)) / records - 1  # χ²/n, also of cells that nobody is in
    corrected = max(0.0, spread - (rows - 1) * (columns - 1) / (records - 1))
    least = min(size - (size - 1) ** 2 / (records - 1) for size in (rows, columns)) - 1
    return float(np.sqrt(min(1.0, corrected / least))) if least > 0 else 0.0


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
