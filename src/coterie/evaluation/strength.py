"""How strongly two attributes go together, from 0 to 1, whatever their types; and how much of that a release keeps.

Numbers with numbers: Pearson's r, with its sign. Labels with labels: Cramér's V. A number with labels: the correlation ratio
η. For every pair also the mutual information I of their cells, as the coefficient √(1 − e^(−2I)): |r| where both are
normal (Linfoot 1957). V, η and I are corrected for what chance alone adds (Bergsma 2013; Miller–Madow).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.evaluation.measure import MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.evaluation.tables import UNWEIGHTED, WORST, Weights, cells_of, combinations_of, effective_records
from coterie.schema.arrays import Floats, Whole
from coterie.table.columns.column import Column, NumericColumn

RELATED = 0.1  # from here on two attributes are related
MOST_PAIRS = 3000
_BINS, _MOST_LABELS = 8, 40
_MOST_RECORDS = 200_000  # more make no figure better
_LUCK = 4.0  # standard deviations beyond which chance is no explanation


@dataclass(frozen=True, slots=True)
class RelatedColumn:
    """One column of the original or of the release: its cells, and its numbers where it has some."""

    cells: Whole
    size: int
    numbers: Floats | None


@dataclass(frozen=True, slots=True)
class Strength:
    kind: str
    value: float
    by_luck: float  # how strong two unrelated attributes may seem


def association(one: RelatedColumn, other: RelatedColumn, weights: Floats | None) -> Strength:
    """Correlation, Cramér's V or correlation ratio, by the types of the two."""
    if one.numbers is not None and other.numbers is not None:
        return _correlation(one.numbers, other.numbers, weights)
    if one.numbers is None and other.numbers is None:
        return _cramers_v(one, other, weights)
    numbers, labels = (one.numbers, other) if one.numbers is not None else (other.numbers, one)
    assert numbers is not None
    return _correlation_ratio(numbers, labels, weights)


def information(one: RelatedColumn, other: RelatedColumn, weights: Floats | None) -> Strength:
    """Mutual information as a coefficient, whatever the types; missing is an outcome."""
    table, records = _table(one, other, weights)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    there = table > 0
    found = float((table[there] * np.log(table[there] / expected[there])).sum())
    rows, columns = (int((table.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    free = (rows - 1) * (columns - 1)
    bias, spread = free / (2 * records), math.sqrt(2 * free) / (2 * records)
    return Strength("mutual information", _coefficient(found - bias), _coefficient(_LUCK * spread))


def _coefficient(nats: float) -> float:
    return math.sqrt(-math.expm1(-2 * max(nats, 0.0)))


def _table(one: RelatedColumn, other: RelatedColumn, weights: Floats | None) -> tuple[Floats, float]:
    counts = np.bincount(one.cells * other.size + other.cells, weights, one.size * other.size)
    return (counts / counts.sum()).reshape(one.size, other.size), effective_records(weights, len(one.cells))


def _correlation(one: Floats, other: Floats, weights: Floats | None) -> Strength:
    both = ~(np.isnan(one) | np.isnan(other))
    by = None if weights is None else weights[both]
    records = effective_records(by, int(both.sum())) if both.any() else 0.0
    if records < 3:
        return Strength("correlation", 0.0, 1.0)
    ends = []
    for values in (one[both], other[both]):
        centred = values - np.average(values, weights=by)
        length = math.sqrt(float(np.average(centred**2, weights=by)))
        ends.append(
            centred / length if length > 1e-12 * max(1.0, float(np.abs(values).max())) else centred * 0.0
        )
    found = float(np.clip(np.average(ends[0] * ends[1], weights=by), -1, 1))
    return Strength("correlation", found, min(_LUCK / math.sqrt(records), 1.0))


def _cramers_v(one: RelatedColumn, other: RelatedColumn, weights: Floats | None) -> Strength:
    table, records = _table(one, other, weights)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    rows, columns = table.shape
    if min(rows, columns) < 2:
        return Strength("Cramér's V", 0.0, 1.0)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    phi = float(((table - expected) ** 2 / expected).sum())
    free = (rows - 1) * (columns - 1)
    widths = [size - (size - 1) ** 2 / max(records - 1, 1) for size in (rows, columns)]
    room = max(min(widths) - 1, 1e-9)
    found = math.sqrt(min(max(phi - free / max(records - 1, 1), 0.0) / room, 1.0))
    return Strength("Cramér's V", found, math.sqrt(min(_LUCK * math.sqrt(2 * free) / records / room, 1.0)))


def _correlation_ratio(numbers: Floats, labels: RelatedColumn, weights: Floats | None) -> Strength:
    there = ~np.isnan(numbers)
    values, cells = numbers[there], labels.cells[there]
    by = np.ones(len(values)) if weights is None else weights[there]
    sums = np.bincount(cells, by, labels.size)
    groups = int((sums > 0).sum())
    records = effective_records(by, len(values)) if len(values) else 0.0
    if groups < 2 or records <= groups + 1:
        return Strength("correlation ratio", 0.0, 1.0)
    values = values - np.average(values, weights=by)
    total = float(by @ values**2)
    if total <= 0:
        return Strength("correlation ratio", 0.0, 1.0)
    means = np.bincount(cells, by * values, labels.size) / np.where(sums > 0, sums, 1)
    explained = float(sums @ means**2) / total
    corrected = 1 - (1 - explained) * (records - 1) / (records - groups)
    luck = _LUCK * math.sqrt(2 * (groups - 1)) / records
    return Strength("correlation ratio", math.sqrt(min(max(corrected, 0.0), 1.0)), math.sqrt(min(luck, 1.0)))


def sides(pair: Pair, name: str, chosen: Sequence[Whole | slice]) -> tuple[RelatedColumn, RelatedColumn]:
    cells = cells_of(pair.original[name], pair.released[name], _BINS, _MOST_LABELS)
    return (
        RelatedColumn(cells.before[chosen[0]], cells.size, _numbers(pair.original[name], chosen[0])),
        RelatedColumn(cells.after[chosen[1]], cells.size, _numbers(pair.released[name], chosen[1])),
    )


def _numbers(column: Column, chosen: Whole | slice) -> Floats | None:
    return column.values[chosen] if isinstance(column, NumericColumn) else None


def strength_kept(
    pair: Pair,
    settings: Settings,
    of: Callable[[RelatedColumn, RelatedColumn, Floats | None], Strength],
    weights: Weights = UNWEIGHTED,
    without: Sequence[str] = (),
) -> MeasureResult:
    """Which share of all strength is lost, or invented: over the pairs that are related before or after."""
    names = [name for name in pair.original if name not in without]
    if len(names) < 2:
        return MeasureResult(None, reason="a relation needs two protected attributes")
    chosen = [
        _some(len(next(iter(columns.values())).position), settings)
        for columns in (pair.original, pair.released)
    ]
    before_by, after_by = (None if by is None else by[some] for by, some in zip(weights, chosen, strict=True))
    known = {name: sides(pair, name, chosen) for name in names}
    changed = room = 0.0
    entries: list[dict[str, Any]] = []
    lost: dict[str, list[float]] = {}
    for one, other in combinations_of(names, 2, MOST_PAIRS, settings.seed):
        before = of(known[one][0], known[other][0], before_by)
        after = of(known[one][1], known[other][1], after_by)
        related = abs(before.value) >= max(RELATED, before.by_luck)
        invented = abs(after.value) >= max(RELATED, after.by_luck, before.by_luck)
        if not (related or invented):
            continue
        apart, most = abs(before.value - after.value), max(abs(before.value), abs(after.value))
        changed, room = changed + min(apart, most), room + most
        share = min(apart / most, 1.0)
        for name in (one, other):
            lost.setdefault(name, []).append(share)
        entries.append(
            {
                "pair": [one, other],
                "kind": before.kind,
                "before": before.value,
                "after": after.value,
                "distance": share,
                "apart": apart,
            }
        )
    entries.sort(key=lambda entry: -entry["apart"])
    details = {"related": len(entries), "pairs": math.comb(len(names), 2), "worst_pairs": entries[:WORST]}
    by_name = {name: float(np.mean(shares)) for name, shares in lost.items()}
    if not entries:
        return MeasureResult(None, reason="no two attributes are related, neither before nor after")
    return MeasureResult(changed / room, by_name, details)


def _some(records: int, settings: Settings) -> Whole | slice:
    if records <= _MOST_RECORDS:
        return slice(None)
    draw = np.random.Generator(np.random.PCG64(settings.seed))
    return np.sort(draw.choice(records, _MOST_RECORDS, replace=False))
