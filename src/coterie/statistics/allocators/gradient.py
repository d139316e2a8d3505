"""The default: follow the exact gradient of the metric over all allowed splits, floors and groups included."""

from __future__ import annotations

from coterie.statistics.allocators import square_root, uniform
from coterie.statistics.allocators.allocator import Allocator, Array, Problem
from coterie.statistics.optimise import minimise

EXPONENT = 11  # 2048 Sobol points while searching; the report uses 16 × 1024 others


def allocate(problem: Problem) -> Array:
    """The better of two searches: from the uniform split and from the first-order optimum."""

    def objective(budgets: Array) -> tuple[float, Array]:
        return problem.metric.score_gradient(budgets, exponent=EXPONENT)

    starts = [square_root.allocate(problem), uniform.allocate(problem)]
    found = [minimise(objective, problem.feasible, problem.powers, start) for start in starts]
    return min(found, key=lambda optimum: optimum.value).budgets


ALLOCATORS = (
    Allocator("gradient", "gradient optimum of the metric", "ours", allocate, order=0),
)
