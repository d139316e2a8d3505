"""The default: follow the exact gradient of the metric over all allowed splits, floors and groups included."""

from __future__ import annotations

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Allocator, Problem, square_root
from coterie.statistics.allocators.fixed_shares import uniform
from coterie.statistics.planning.composition import minimise

MANY_TARGETS = 100


def allocate(problem: Problem) -> Floats:
    """The better of two searches: from the uniform split and from the first-order optimum.

    2048 Sobol points for a few targets; for hundreds, whose errors average out in the score, 256 points, one
    start and a shorter search. The report uses 16 other sets of points in any case.
    """
    many = len(problem.metric.targets) > MANY_TARGETS
    exponent, steps, tolerance = (8, 40, 1e-4) if many else (11, 200, 1e-8)

    def objective(budgets: Floats) -> tuple[float, Floats]:
        return problem.metric.score_gradient(budgets, exponent=exponent)

    starts = [square_root.allocate] if many else [square_root.allocate, uniform]
    found = [
        minimise(objective, problem.feasible, problem.powers, start(problem), tolerance, steps)
        for start in starts
    ]
    return min(found, key=lambda optimum: optimum.value).budgets


ALLOCATORS = (Allocator("gradient", "gradient optimum of the metric", "ours", allocate, order=0),)
