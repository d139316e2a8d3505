"""models: what regressions and classifiers learn from the release, tested on people of the original.

One model per attribute, from all the others: linear regression for numbers, a linear classifier (least squares on 0/1) for
labels, both fitted to the release and to the original. Skill is R², of a classifier that of its probabilities (Brier's), on
the third of the original's records that the original's model did not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.schema.arrays import Floats, Whole
from coterie.table.columns.column import Column, NumericColumn

WORST = 5
LEARNABLE = 0.05  # skill that a model of the original must reach; below, there is nothing to lose
MOST_RECORDS = 50_000
_MOST_FEATURES = 400
_RIDGE = 1e-4  # of the variance of a feature: attributes that follow from others have no single solution
_SHARE = 2 / 3


@dataclass(frozen=True, slots=True)
class Coding:
    """How the cells of one attribute become features, by the original alone."""

    labels: Whole | None  # those with a feature of their own
    centre: float = 0.0
    scale: float = 1.0
    gaps: bool = False

    @classmethod
    def of(cls, column: Column, most: int) -> Coding:
        if not isinstance(column, NumericColumn):
            counts = np.bincount(column.codes, minlength=column.label_count)
            common = np.argsort(-counts, kind="stable")[:most]
            return cls(np.sort(common[counts[common] > 0]))
        there = column.values[~np.isnan(column.values)]
        spread = float(there.std()) if len(there) else 0.0
        return cls(
            None,
            float(there.mean()) if len(there) else 0.0,
            spread or 1.0,
            bool(np.isnan(column.values).any()),
        )

    def features(self, column: Column, rows: Whole) -> Floats:
        if self.labels is not None:
            assert not isinstance(column, NumericColumn)
            return np.asarray(column.codes[rows, None] == self.labels, dtype=np.float64)
        assert isinstance(column, NumericColumn)
        values = (column.values[rows] - self.centre) / self.scale
        missing = np.isnan(values)
        parts = [np.where(missing, 0.0, values), *([missing.astype(np.float64)] if self.gaps else [])]
        return np.asarray(np.column_stack(parts), dtype=np.float64)


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    names = list(pair.original)
    if len(names) < 2:
        return MeasureResult(None, reason="a model needs two protected attributes")
    most = max(2, _MOST_FEATURES // len(names))
    codings = {name: Coding.of(pair.original[name], most) for name in names}
    draw = np.random.Generator(np.random.PCG64([settings.seed, 3]))
    records, rows = (len(columns[names[0]].position) for columns in (pair.original, pair.released))
    order = draw.permutation(records)[:MOST_RECORDS]
    cut = int(len(order) * _SHARE)
    if not 0 < cut < len(order):
        return MeasureResult(None, reason="there are too few records to test a model")
    train, test = order[:cut], order[cut:]
    # Linked rows: none is of a person whom the models are tested on.
    after = train if pair.unlinked is None else draw.permutation(rows)[:cut]
    places: dict[str, slice] = {}
    tables = []
    for columns, some in ((pair.original, train), (pair.released, after), (pair.original, test)):
        parts = [codings[name].features(columns[name], some) for name in names]
        ends = np.cumsum([1, *(part.shape[1] for part in parts)])
        places = dict(zip(names, map(slice, ends[:-1], ends[1:]), strict=True))
        tables.append(np.column_stack([np.ones(len(some)), *parts]))
    targets = names if settings.target not in names else [str(settings.target)]
    fits = [_LeastSquares(table) for table in tables[:2]]
    found: dict[str, float] = {}
    entries: list[dict[str, Any]] = []
    for target in targets:
        own, truth = places[target], tables[2][:, places[target]]
        skills = [_skill(fit.predicted(own, tables[2]), truth, codings[target]) for fit in fits]
        if skills[0] < LEARNABLE:
            continue
        found[target] = float(np.clip(1 - max(skills[1], 0.0) / skills[0], 0, 1))
        kind = "regression" if codings[target].labels is None else "classifier"
        entries.append(
            {
                "pair": [target],
                "kind": kind,
                "before": skills[0],
                "after": max(skills[1], 0.0),
                "distance": found[target],
            }
        )
    if not found:
        return MeasureResult(
            None, reason="no attribute can be predicted from the others, not even from the original"
        )
    entries.sort(key=lambda entry: -entry["distance"])
    return MeasureResult(
        float(np.mean(list(found.values()))), found, {"models": len(found), "worst_pairs": entries[:WORST]}
    )


class _LeastSquares:
    """Every attribute by least squares on all the others, from one matrix of products and its inverse.

    Solving A_oo w = A_ot for each attribute t and the others o is the same as w = -B_ot B_tt⁻¹ with B = A⁻¹.
    """

    def __init__(self, features: Floats) -> None:
        products = features.T @ features / max(len(features), 1)
        ridge = _RIDGE * np.diag(products)
        ridge[0] = 0.0  # the constant
        products[np.diag_indices_from(products)] += ridge + 1e-12
        self.inverse = np.linalg.inv(products)

    def predicted(self, own: slice, features: Floats) -> Floats:
        weights = -self.inverse[:, own] @ np.linalg.inv(self.inverse[own, own])
        weights[own] = 0.0
        return np.asarray(features @ weights, dtype=np.float64)


def _skill(predicted: Floats, truth: Floats, coding: Coding) -> float:
    """Share of the variance that is explained, of a number or of all labels together."""
    there = slice(None) if coding.labels is not None else truth[:, -1] == 0 if coding.gaps else slice(None)
    width = truth.shape[1] if coding.labels is not None else 1
    values, guess = truth[there, :width], predicted[there, :width]
    total = float(((values - values.mean(axis=0)) ** 2).sum()) if len(values) else 0.0
    return 1 - float(((values - guess) ** 2).sum()) / total if total > 0 else 0.0


MEASURE = Measure(
    name="models",
    title="skill of models that is lost",
    meaning="which share of their skill (R²) regressions and classifiers lose if they learn from the release and are tested "
    "on the original, mean over attributes that can be predicted; 0 is best, 1 the worst possible",
    papers="ours; train on synthetic, test on real",
    needs_linkage=False,
    table=_compute,
    rank=46,
    words=((0.1, "kept"), (0.3, "weakened"), (0.6, "mostly lost")),
)
