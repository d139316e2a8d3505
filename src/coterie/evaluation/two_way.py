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
