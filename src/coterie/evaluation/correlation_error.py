"""correlation: how far the correlation matrix moved, mean of |r − r'| over the pairs of numeric attributes."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.schema.arrays import Floats
from coterie.table.columns.column import alike


def correlations(columns: list[Floats]) -> Floats:
    """Pearson's r for each pair, over the records that have both; a constant column correlates with nothing."""
    values = np.array(columns)
    if np.isnan(values).any():
        matrix = np.eye(len(values))
        for one, other in combinations(range(len(values)), 2):
            both = values[:, ~np.isnan(values[[one, other]]).any(axis=0)][[one, other]]
            if both.shape[1]:
                matrix[one, other] = matrix[other, one] = correlations(list(both))[0, 1]
        return matrix
    centred = np.where(alike(values)[:, None], 0.0, values - values.mean(axis=1, keepdims=True))
    length = np.sqrt(np.sum(centred**2, axis=1))
    centred /= np.where(length > 0, length, 1)[:, None]
    matrix = np.clip(centred @ centred.T, -1, 1)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(matrix, dtype=np.float64)


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    names = pair.numeric
    if len(names) < 2:
        return MeasureResult(None, reason="a correlation needs two numeric attributes")
    before = correlations([pair.before(name) for name in names])
    after = correlations([pair.after(name) for name in names])
    moved = np.abs(before - after)
    others = len(names) - 1
    return MeasureResult(
        float(moved.sum() / (len(names) * others)),
        {name: float(moved[place].sum() / others) for place, name in enumerate(names)},
        {"largest": float(moved.max())},
    )


MEASURE = Measure(
    name="correlation",
    title="error of the correlation matrix",
    meaning="mean distance between a correlation before and after; 0 is best, 2 the worst possible",
    papers="ours",
    needs_linkage=False,
    table=_compute,
    rank=40,
)
