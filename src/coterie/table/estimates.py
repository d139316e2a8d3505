"""What users of a table estimate from it: means of numbers and shares of labels, by the weights and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.table.columns.column import CategoryColumn, Column

MEAN = "mean"
MOST_LABELS = 20  # of one attribute; more are left out


@dataclass(frozen=True, slots=True)
class EstimatePair:
    """One figure of the original and of the release, without weights and with them; None where there are no weights."""

    attribute: str
    of: str  # the mean, or the share of a label
    original: float
    released: float
    original_weighted: float | None
    released_weighted: float | None


def compared(
    before: Mapping[str, Column],
    after: Mapping[str, Column],
    weights: tuple[Floats | None, Floats | None],
    weight: str,
) -> list[EstimatePair]:
    """All figures of all attributes but the weight."""
    found = []
    for name in before:
        if name == weight:
            continue
        tables = [
            _figures(column, by)
            for column, by in (
                (before[name], None),
                (after[name], None),
                (before[name], weights[0]),
                (after[name], weights[1]),
            )
        ]
        weighted = [None if by is None else table for by, table in zip(weights, tables[2:], strict=True)]
        for of, figure in tables[0].items():
            parts = (None if table is None else table[of] for table in weighted)
            found.append(EstimatePair(name, of, figure, tables[1][of], *parts))
    return found


def _figures(column: Column, weights: Floats | None) -> dict[str, float]:
    """Over the records that have a value. Means of dates are left out: their zero is arbitrary."""
    if isinstance(column, CategoryColumn):
        return _shares(column.codes, weights, column.taxonomy.categories)
    there = ~np.isnan(column.values)
    by = None if weights is None else weights[there]
    if column.attribute.categories is not None:  # ranks of labels
        ranks = np.rint(column.values[there]).astype(np.int64)
        return _shares(ranks, by, column.attribute.categories.labels or ())
    if not column.attribute.type.has_zero:
        return {}
    return {MEAN: float(np.average(column.values[there], weights=by)) if there.any() else float("nan")}


def _shares(codes: NDArray[np.integer], weights: Floats | None, labels: Sequence[str]) -> dict[str, float]:
    counts = np.bincount(codes, weights, len(labels)).astype(np.float64)
    shares = counts / max(counts.sum(), 1e-300)
    return {label: float(share) for label, share in zip(labels[:MOST_LABELS], shares, strict=False)}
