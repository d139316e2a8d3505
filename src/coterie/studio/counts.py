"""Who counted the last release of a project, of rows or of statistics: the next one about the same people goes there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema.attributes import AttributeType
from coterie.studio.desk.desk import Desk, ReleasedStatistics
from coterie.studio.project import Project, Released
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn


def last_account(project: Project) -> tuple[str, str]:
    """The ledger's path and the population, or two empty texts where no release was counted."""
    entries: list[Released | ReleasedStatistics] = [*project.state.released, *Desk(project).state.released]
    counted = [(entry.at, entry.ledger, entry.population) for entry in entries if entry.ledger]
    _, ledger, population = max(counted, key=lambda found: found[0], default=("", "", ""))
    return ledger or "", population or ""


# One attribute before and after, counted: bins that both share, or labels.

BINS = 30
MOST_LABELS = 12
_DAY = 86_400  # seconds
Floats = NDArray[np.float64]


def counted(before: Column, after: Column) -> dict[str, Any]:
    """What a page draws: kind "bins" with edges, or kind "labels"; counts of every record in both."""
    attribute = before.attribute
    if isinstance(before, CategoryColumn):
        assert isinstance(after, CategoryColumn)
        return _labels(attribute.name, before.taxonomy.categories, before.codes, after.codes, by_count=True)
    assert isinstance(before, NumericColumn)
    assert isinstance(after, NumericColumn)
    one, other = before.values, after.values
    labels = attribute.categories.labels if attribute.categories else None
    if attribute.type is AttributeType.ORDINAL and labels:
        return _labels(attribute.name, labels, _ranks(one, labels), _ranks(other, labels), by_count=False)
    if attribute.type is AttributeType.TIMESTAMP:
        one, other = one / _DAY, other / _DAY
    dates = attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP)
    edges = shared_edges(one, other, whole=attribute.type is AttributeType.INTEGER)
    return {
        "kind": "bins",
        "name": attribute.name,
        "unit": attribute.unit or "",
        "dates": dates,
        "edges": edges,
        "before": _binned(one, edges),
        "after": _binned(other, edges),
        "mean": [float(one.mean()), float(other.mean())],
        "deviation": [float(one.std()), float(other.std())],
    }


def shared_edges(before: Floats, after: Floats, *, whole: bool) -> list[float]:
    """Equal bins over all but the outermost half percent of both; whole numbers get bins of their own if they are few."""
    ends = [np.quantile(values, share) for values in (before, after) for share in (0.005, 0.995)]
    low, high = float(min(ends)), float(max(ends))
    if whole and high - low <= BINS:
        return [edge - 0.5 for edge in range(math.floor(low), math.ceil(high) + 2)]
    rough = (high - low) / BINS or abs(low) / BINS or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    step = max(1.0, step) if whole else step
    first = math.floor(low / step + 1e-9)
    count = max(1, math.ceil(high / step - 1e-9) - first)
    return [(first + place) * step for place in range(count + 1)]


def _binned(values: Floats, edges: list[float]) -> list[int]:
    """Values beyond the edges count in the outer bins, so that nobody is left out."""
    return [int(count) for count in np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]]


def _ranks(values: Floats, labels: tuple[str, ...]) -> NDArray[np.int32]:
    return np.clip(np.rint(values), 0, len(labels) - 1).astype(np.int32)


def _labels(name: str, labels: Any, before: Any, after: Any, *, by_count: bool) -> dict[str, Any]:
    """The commonest labels of the original; the others together."""
    one, other = (np.bincount(codes, minlength=len(labels)) for codes in (before, after))
    order = np.argsort(-one, kind="stable") if by_count else np.arange(len(labels))
    shown, rest = order[:MOST_LABELS], order[MOST_LABELS:]
    names = [str(labels[code]) for code in shown]
    counts = [[int(count) for count in whole[shown]] for whole in (one, other)]
    if len(rest):
        names.append(f"{len(rest)} other labels")
        for found, whole in zip(counts, (one, other), strict=True):
            found.append(int(whole[rest].sum()))
    return {"kind": "labels", "name": name, "labels": names, "before": counts[0], "after": counts[1]}
