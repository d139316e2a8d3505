"""two-way: how far the table of every two attributes is from the original's, and which pairs are told worst.

Numbers are cut at the eighths of the original, labels stand for themselves, missing is a cell of its own. The distance of
two tables is the total variation: the share of records that would have to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from coterie.evaluation.measure import Measure, MeasureResult, Pair, Settings
from coterie.schema.arrays import Floats, Whole
from coterie.table.columns.column import Column, NumericColumn, present

BINS = 8
MOST_PAIRS = 5000  # 100 attributes; of more, so many pairs are drawn
WORST = 5
_MOST_CELLS = 1_000_000  # above, only the cells that occur are counted


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    return distances(pair, settings, (None, None), ())


def distances(
    pair: Pair, settings: Settings, weights: tuple[Floats | None, Floats | None], without: Sequence[str]
) -> MeasureResult:
    """Of all pairs, or of so many; `weights` of the original's records and of the release's, if they count by weight."""
    names = [name for name in pair.original if name not in without]
    if len(names) < 2:
        return MeasureResult(None, reason="a two-way table needs two protected attributes")
    cells = {name: _cells(pair.original[name], pair.released[name]) for name in names}
    pairs = list(combinations(names, 2))
    if len(pairs) > MOST_PAIRS:
        draw = np.random.Generator(np.random.PCG64(settings.seed))
        pairs = [pairs[place] for place in np.sort(draw.choice(len(pairs), MOST_PAIRS, replace=False))]
    found = {chosen: _distance(cells[chosen[0]], cells[chosen[1]], weights) for chosen in pairs}
    worst = sorted(found, key=lambda chosen: -found[chosen])[:WORST]
    by_name = {name: [distance for chosen, distance in found.items() if name in chosen] for name in names}
    return MeasureResult(
        float(np.mean(list(found.values()))),
        {name: float(np.mean(distances)) for name, distances in by_name.items() if distances},
        {"pairs": len(pairs), "worst_pairs": [{"pair": list(p), "distance": found[p]} for p in worst]},
    )


def _cells(before: Column, after: Column) -> tuple[Whole, Whole, int]:
    """The cell of every record of the original and of the release, and how many cells there are."""
    if not isinstance(before, NumericColumn):
        assert not isinstance(after, NumericColumn)
        return before.codes.astype(np.int64), after.codes.astype(np.int64), before.label_count
    assert isinstance(after, NumericColumn)
    there = present(before.values)
    cuts = np.unique(np.quantile(there, np.arange(1, BINS) / BINS)) if len(there) else np.empty(0)
    return _binned(before.values, cuts), _binned(after.values, cuts), len(cuts) + 2


def _binned(values: Floats, cuts: Floats) -> Whole:
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(cuts, values, side="left")).astype(np.int64)


def _distance(
    one: tuple[Whole, Whole, int],
    other: tuple[Whole, Whole, int],
    weights: tuple[Floats | None, Floats | None],
) -> float:
    size = one[2] * other[2]
    before, after = one[0] * other[2] + other[0], one[1] * other[2] + other[1]
    if size > _MOST_CELLS:
        _, places = np.unique(np.concatenate([before, after]), return_inverse=True)
        before, after, size = places[: len(before)], places[len(before) :], int(places.max()) + 1
    tables = [np.bincount(cells, by, size) for cells, by in zip((before, after), weights, strict=True)]
    shares = [table / table.sum() for table in tables]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


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
    rank=45,
)
