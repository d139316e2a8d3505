"""one-way: how far the distribution of every attribute is from the original's, and which answers are least accurate."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.evaluation.tables import WORST, cell_shares, cells_of, distance

BINS = 8


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    found: dict[str, float] = {}
    luck: list[float] = []
    answers: list[dict[str, Any]] = []
    for name, column in pair.original.items():
        cells = cells_of(column, pair.released[name], BINS)
        found[name], by_sampling = distance([cells])
        luck.append(by_sampling)
        before, after = cell_shares([cells])
        for place in np.argsort(-np.abs(before - after))[:WORST]:
            said = {"before": float(before[place]), "after": float(after[place])}
            answers.append({"attribute": name, "answer": cells.names[place], **said})
    if not found:
        return MeasureResult(None, reason="no attribute is protected")
    return MeasureResult(
        sum(found.values()) / len(found),
        found,
        {
            "by_sampling": sum(luck) / len(luck),
            "worst_answers": sorted(answers, key=lambda one: -abs(one["after"] - one["before"]))[:WORST],
        },
    )


MEASURE = Measure(
    name="one-way",
    title="distance of distributions",
    meaning="share of the records that would have to give another answer (numbers in eighths), mean over attributes; 0 is "
    "best, 1 the worst possible",
    papers="ours; total variation",
    needs_linkage=False,
    table=_compute,
    rank=41,
    words=((0.05, "close to the original"), (0.12, "changed in places"), (0.3, "clearly changed")),
)
