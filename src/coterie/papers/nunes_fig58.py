"""Nunes 2024, Fig. 5.8: the scores of all 1,352,078 allocations, exactly, and the optimum that is not among them.

The score is a sum over two blocks that share no statistic (one for each t-test), so each block is scored for
each of its C(18, 6) = 18,564 splits of up to twelve steps, and every pair of splits that spends all twelve
steps is one allocation.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.papers.data import load
from coterie.papers.experiment import Experiment, ExperimentOutcome, Judgement, as_printed
from coterie.papers.nunes_scenario import FLOOR, PUBLISHED_BEST, STEP, Scenario, exact_scores, scenario
from coterie.report.charts import Figure, IntervalRow, intervals
from coterie.schema.arrays import Floats
from coterie.statistics.allocators import find_allocator
from coterie.statistics.allocators.grid import blocks, score_block

_QUANTILES = np.linspace(0.0, 1.0, 201)
STEPS = 12
ALLOCATIONS = 1_352_078


def all_scores(chosen: Scenario) -> tuple[Floats, Floats]:
    """Every score, and the best allocation."""
    floors = np.full(12, FLOOR)
    found = [
        (block, *score_block(chosen.metric, block, floors, STEP, STEPS)) for block in blocks(chosen.metric)
    ]
    (first, first_splits, first_scores), (second, second_splits, second_scores) = found
    parts, best, best_score = [], np.empty(12), np.inf
    for spent in range(STEPS + 1):
        left = first_splits.sum(axis=1) == spent
        right = second_splits.sum(axis=1) == STEPS - spent
        scores = first_scores[left][:, None] + second_scores[right][None, :]
        parts.append(scores.ravel())
        if scores.min() < best_score:
            row, column = np.unravel_index(int(scores.argmin()), scores.shape)
            best_score = float(scores.min())
            best[first] = FLOOR + STEP * first_splits[left][row]
            best[second] = FLOOR + STEP * second_splits[right][column]
    return np.concatenate(parts), best


def draw_scores(scores: Floats, marks: dict[str, float]) -> Figure:
    """Fig. 5.8 with the exact scores, and where the named allocations stand."""
    low, middle, high = (float(value) for value in np.quantile(scores, (0.05, 0.5, 0.95)))
    return intervals(
        [
            IntervalRow(
                f"all {len(scores):,} allocations", middle, low, high, float(scores.min()), ("circle", 7)
            ),
            *(IntervalRow(name, score, said=f"{score:.4f}") for name, score in marks.items()),
        ],
        axis="score: mean expected absolute error over 14 targets (scaled charges, counts in records)",
        mark_words="smallest",
        interval="from the 5 % to the 95 % point",
        looks=[("median of all allocations", ("circle", 7)), ("one allocation", ("circle", 1))],
        caption="",
        first="allocation",
        title=f"All {len(scores):,} allocations (Nunes 2024, Fig. 5.8)",
    )


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    chosen = scenario(load("insurance"))
    scores, best = all_scores(chosen)
    ours, theirs = (chosen.metric.score(budgets, exponent=14) for budgets in (best, PUBLISHED_BEST))
    optimum = chosen.metric.score(find_allocator("gradient").allocate(chosen.problem), exponent=14)
    findings = (
        Judgement(
            "number of allocations",
            f"{ALLOCATIONS:,}",
            f"{len(scores):,}",
            "equal",
            len(scores) == ALLOCATIONS,
        ),
        Judgement(
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
    return ExperimentOutcome(findings, draw_scores(scores, marks), data, notes)


EXPERIMENT = Experiment(
    name="nunes-fig58",
    title="the scores of all allocations in steps of 0.5",
    paper="Nunes 2024, §5.4.3, Fig. 5.8",
    data=("insurance",),
    seconds=10,
    compute=_compute,
    readings=(as_printed("steps of 0.5 from a floor of 0.5, total 12 (§5.4.2)"),),
)
