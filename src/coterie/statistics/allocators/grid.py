"""The paper's tree of all splits in equal steps (Nunes 2024, §5.4.1), without walking it.

Targets fall into blocks that share no measurement, and the score is a sum over blocks. So each block is
scored once for each way of spending up to all steps inside it, and the blocks are joined by spending: the
best of all C(r+n−1, r) splits, exactly, without visiting them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Allocator, NotApplicable, Problem
from coterie.statistics.prediction.fixed_sums import connected
from coterie.statistics.prediction.metric import Metric

STEPS = 12  # as in Nunes 2024: the budget above the floors in twelve equal parts
MOST_SPLITS = 250_000


def allocate(problem: Problem) -> Floats:
    feasible = problem.feasible
    if len(feasible.rows) > 1 or not bool((feasible.rows == 1.0).all()):
        raise NotApplicable(
            "The grid splits one budget; here groups have theirs in parallel.", "Use gradient."
        )
    floors = feasible.floors
    if not bool((floors > 0).all()):
        floors = np.maximum(floors, 0.5 * feasible.total / feasible.count)
    step = (feasible.total - float(floors.sum())) / STEPS
    if step <= 1e-12 * feasible.total:
        return floors
    best = [np.zeros(feasible.count, dtype=np.int64)] + [None] * STEPS
    cost = [0.0] + [math.inf] * STEPS
    for block in blocks(problem.metric):
        splits, scores = score_block(problem.metric, block, floors, step, STEPS)
        spent = splits.sum(axis=1)
        champions = {
            int(s): int(np.flatnonzero(spent == s)[scores[spent == s].argmin()]) for s in np.unique(spent)
        }
        new_cost = [math.inf] * (STEPS + 1)
        new_best: list[NDArray[np.int64] | None] = [None] * (STEPS + 1)
        for before, chosen in enumerate(best):
            if chosen is None:
                continue
            for use, row in champions.items():
                after = before + use
                if after <= STEPS and cost[before] + scores[row] < new_cost[after]:
                    new_cost[after] = cost[before] + float(scores[row])
                    joined = chosen.copy()
                    joined[block] = splits[row]
                    new_best[after] = joined
        best, cost = new_best, new_cost
    winner = best[STEPS]  # more budget never hurts: all steps are spent
    assert winner is not None
    return np.asarray(floors + step * winner)


def blocks(metric: Metric) -> list[NDArray[np.int64]]:
    """Measurements that share a target, joined until no target spans two blocks."""
    inputs = (metric.source_of[list(error.inputs)].tolist() for error in metric.errors)
    part = connected(len(metric.sources), ((first, other) for first, *others in inputs for other in others))
    return [np.flatnonzero(part == number) for number in range(int(part.max()) + 1)]


def compositions(parts: int, most: int) -> NDArray[np.int64]:
    """All ways to give 0 … most steps to this many parts."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(parts):
        left = most - rows.sum(axis=1)
        repeats = left + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        added = np.arange(int(repeats.sum())) - starts
        rows = np.column_stack([np.repeat(rows, repeats, axis=0), added])
    return rows


def score_block(
    metric: Metric, block: NDArray[np.int64], floors: Floats, step: float, steps: int
) -> tuple[NDArray[np.int64], Floats]:
    """Every split of up to all steps inside one block, and the block's part of the score."""
    count = math.comb(len(block) + steps, len(block))
    if count > MOST_SPLITS:
        raise NotApplicable(
            f"One block of {len(block)} linked measurements has {count:,} splits.",
            "Use the gradient allocator.",
        )
    splits = compositions(len(block), steps)
    budgets = np.tile(np.maximum(floors, 1e-12), (len(splits), 1))
    budgets[:, block] = floors[block] + step * splits
    return splits, metric.scores_of_many(budgets, exponent=10, only=frozenset(block.tolist()))


ALLOCATORS = (
    Allocator(
        "grid",
        "best of all splits in twelve steps",
        "Nunes 2024, §5.4, without simulation",
        allocate,
        order=40,
    ),
)
