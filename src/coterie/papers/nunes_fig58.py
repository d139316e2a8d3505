"""Nunes 2024, Fig. 5.8: the scores of all 1,352,078 allocations, exactly, and the optimum that is not among them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.papers.allocation import insurance
from coterie.papers.experiment import Experiment, Finding, Outcome
from coterie.papers.nunes_all_allocations import ALLOCATIONS, all_scores, draw_scores
from coterie.papers.nunes_scenario import PUBLISHED_BEST, exact_scores, scenario
from coterie.statistics.allocators import find_allocator

_QUANTILES = np.linspace(0.0, 1.0, 201)


def _compute() -> Outcome:
    chosen = scenario(insurance())
    scores, best = all_scores(chosen)
    ours, theirs = (chosen.metric.score(budgets, exponent=14) for budgets in (best, PUBLISHED_BEST))
    optimum = chosen.metric.score(find_allocator("gradient").allocate(chosen.problem), exponent=14)
    findings = (
        Finding(
            "number of allocations",
            f"{ALLOCATIONS:,}",
            f"{len(scores):,}",
            "equal",
            len(scores) == ALLOCATIONS,
        ),
        Finding(
            "the published best against the best of the grid, exact scores",
            "the best",
            f"{theirs:.5f} against {ours:.5f}",
            "a tie within 0.1 %",
            abs(theirs / ours - 1) < 1e-3,
        ),
    )
    marks = {"gradient": optimum, "best of Nunes 2024": theirs, "uniform": exact_scores(chosen)["uniform"]}
    data = pa.table({"share of allocations": _QUANTILES, "score": np.quantile(scores, _QUANTILES)})
    notes = (f"Off the grid, with the same floor and total, the gradient reaches {optimum:.4f}.",)
    return Outcome(findings, draw_scores(scores, marks), data, notes)


EXPERIMENT = Experiment(
    name="nunes-fig58",
    title="the scores of all allocations in steps of 0.5",
    paper="Nunes 2024, §5.4.3, Fig. 5.8",
    data=("insurance",),
    seconds=10,
    compute=_compute,
)
