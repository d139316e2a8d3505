"""Distances of the tables of one, two or three attributes: the share of records that would have to move.

Numbers are cut at quantiles of the original, labels stand for themselves, missing is a cell of its own. The distance of two
tables is the total variation. Beside it stands the distance that as many rows drawn at random from the original would have:
with many cells and few rows, every table looks worse than it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from coterie.evaluation.measure import MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.schema import exact
from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import AttributeType
from coterie.schema.document import shown_bound
from coterie.table.columns.column import Column, NumericColumn, present

Weights = tuple[Floats | None, Floats | None]  # of the original's records and of the release's
UNWEIGHTED: Weights = (None, None)
WORST = 5
_MOST_CELLS = 1_000_000  # above, only the cells that occur are counted


@dataclass(frozen=True, slots=True)
class TableCells:
    """The cell of every record of the original and of the release, how many cells there are, and what they are called."""

    before: Whole
    after: Whole
    size: int
    names: tuple[str, ...]


def cells_of(before: Column, after: Column, bins: int, most_labels: int | None = None) -> TableCells:
    """Assign every record to a cell. With `most_labels`, the rarer labels of the original are one cell together."""
    if not isinstance(before, NumericColumn):
        assert not isinstance(after, NumericColumn)
        codes: tuple[Any, Any] = (before.codes, after.codes)
        names = before.taxonomy.categories
        if most_labels is not None and len(names) > most_labels:
            common = np.argsort(-np.bincount(before.codes, minlength=len(names)), kind="stable")[:most_labels]
            place = np.full(len(names), most_labels, dtype=np.int64)
            place[common] = np.arange(most_labels)
            codes = place[codes[0]], place[codes[1]]
            names = (*(names[code] for code in common), "any other")
        return TableCells(codes[0].astype(np.int64), codes[1].astype(np.int64), len(names), tuple(names))
    assert isinstance(after, NumericColumn)
    there = present(before.values)
    cuts = np.quantile(there, np.arange(1, bins) / bins) if len(there) else np.empty(0)
    cuts = np.unique(cuts if before.attribute.type is AttributeType.CONTINUOUS else np.floor(cuts))
    return TableCells(
        _binned(before.values, cuts), _binned(after.values, cuts), len(cuts) + 2, _bin_names(before, cuts)
    )


def _binned(values: Floats, cuts: Floats) -> Whole:
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(cuts, values, side="left")).astype(np.int64)


def _bin_names(column: NumericColumn, cuts: Floats) -> tuple[str, ...]:
    listed = column.attribute.categories
    if listed is not None and listed.labels is not None:  # ranks of labels
        labels = listed.labels
        shown = [str(labels[min(int(cut), len(labels) - 1)]) for cut in cuts]
    elif column.attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        shown = [shown_bound(float(cut), column.attribute.type) for cut in cuts]
    else:
        shown = [exact.number(cut) for cut in cuts]
    if not shown:
        return "(missing)", "any"
    between = (f"above {low} to {high}" for low, high in pairwise(shown))
    return "(missing)", f"up to {shown[0]}", *between, f"above {shown[-1]}"


def cell_shares(parts: Sequence[TableCells], weights: Weights = UNWEIGHTED) -> tuple[Floats, Floats]:
    """The share of the records in each cell of one table, in the original and in the release."""
    size = math.prod(part.size for part in parts)
    before, after = parts[0].before, parts[0].after
    for part in parts[1:]:
        before, after = before * part.size + part.before, after * part.size + part.after
    if size > _MOST_CELLS:
        _, places = np.unique(np.concatenate([before, after]), return_inverse=True)
        before, after, size = places[: len(before)], places[len(before) :], int(places.max()) + 1
    first, second = (np.bincount(cells, by, size) for cells, by in zip((before, after), weights, strict=True))
    return first / first.sum(), second / second.sum()


def distance(parts: Sequence[TableCells], weights: Weights = UNWEIGHTED) -> tuple[float, float]:
    """The total variation of one table, and that of as many rows drawn at random from the original."""
    before, after = cell_shares(parts, weights)
    rows = effective_records(weights[1], len(parts[0].after))
    return float(np.abs(before - after).sum() / 2), _by_sampling(before, rows)


def effective_records(weights: Floats | None, records: int) -> float:
    """How many records of equal weight tell as much as the weighted ones (Kish)."""
    return float(records if weights is None else weights.sum() ** 2 / (weights**2).sum())


def _by_sampling(shares: Floats, rows: float) -> float:
    """E|X/m − p| of a binomial X, as if normal; of a nearly empty cell about 2p."""
    spread = np.minimum(np.sqrt(2 * shares * (1 - shares) / (np.pi * rows)), 2 * shares)
    return float(spread.sum() / 2)


def distances(
    pair: Pair,
    settings: Settings,
    ways: int,
    *,
    bins: int,
    most: int,
    weights: Weights = UNWEIGHTED,
    without: Sequence[str] = (),
    most_labels: int | None = None,
) -> MeasureResult:
    """Average the distances of all tables of `ways` attributes, or of `most` that are drawn."""
    names = [name for name in pair.original if name not in without]
    if len(names) < ways:
        number = ("one", "two", "three")[ways - 1]
        return MeasureResult(None, reason=f"a {number}-way table needs {number} protected attributes")
    cells = {name: cells_of(pair.original[name], pair.released[name], bins, most_labels) for name in names}
    asked = combinations_of(names, ways, most, settings.seed)
    found = {some: distance([cells[name] for name in some], weights) for some in asked}
    worst = sorted(found, key=lambda some: found[some][1] - found[some][0])[:WORST]
    by_name = {name: [value for some, (value, _) in found.items() if name in some] for name in names}
    return MeasureResult(
        float(np.mean([value for value, _ in found.values()])),
        {name: float(np.mean(values)) for name, values in by_name.items() if values},
        {
            "tables": len(found),
            "by_sampling": float(np.mean([luck for _, luck in found.values()])),
            "worst_pairs": [
                {"pair": list(some), "distance": found[some][0], "by_sampling": found[some][1]}
                for some in worst
            ],
        },
    )


def combinations_of(names: Sequence[str], ways: int, most: int, seed: int) -> list[tuple[str, ...]]:
    """All of them, or so many drawn without repetition: all are never listed where they are too many."""
    total = math.comb(len(names), ways)
    if total <= most:
        return list(combinations(names, ways))
    draw = np.random.Generator(np.random.PCG64(seed))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(int(one) for one in draw.choice(len(names), ways, replace=False))))
    return [tuple(names[place] for place in some) for some in sorted(drawn)]
