"""Best over the whole range of expected values: makes the worst score over many possible truths small."""

from __future__ import annotations

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Allocator, NotApplicable, Problem, gradient
from coterie.statistics.planning.composition import minimise

SHARPNESS = 24.0  # the p of the p-norm that stands for the maximum


def allocate(problem: Problem) -> Floats:
    """Minimise (mean of score^p)^(1/p) over the scenarios: near the maximum, and smooth."""
    if not problem.scenarios:
        raise NotApplicable(
            "No statistic has a range of expected values.", "Write expected: [low, high] to plan for a range."
        )

    def objective(budgets: Floats) -> tuple[float, Floats]:
        parts = [metric.score_gradient(budgets, exponent=9) for metric in problem.scenarios]
        scores = np.array([score for score, _ in parts])
        largest = float(scores.max())
        weights = (scores / largest) ** SHARPNESS
        value = largest * float(weights.mean()) ** (1.0 / SHARPNESS)
        slope = sum(w / s * g for w, s, (_, g) in zip(weights, scores, parts, strict=True))
        return value, np.asarray(slope / weights.sum() * value)

    start = gradient.allocate(problem)
    return minimise(objective, problem.feasible, problem.powers, start, tolerance=1e-6, steps=60).budgets


ALLOCATORS = (Allocator("robust", "best over the range of expected values", "ours", allocate, order=5),)
