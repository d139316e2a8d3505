"""No statistic much worse than it could be: limits on errors, kept at the least cost to the score."""

from __future__ import annotations

import numpy as np

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Problem, square_root
from coterie.statistics.planning.composition import Feasible, minimise

SHARPNESS = 32.0  # the p of the p-norm that stands for a maximum
_EXPONENT = 9
_PENALTIES = (1.0, 10.0, 100.0)


def alone(feasible: Feasible) -> Floats:
    """The most that each measurement could get, if all others got their floors."""
    spare = feasible.total - feasible.rows @ feasible.floors
    room = np.full(feasible.rows.shape, np.inf)
    np.divide(spare[:, None], feasible.rows, out=room, where=feasible.rows > 0)
    return np.asarray(feasible.floors + room.min(axis=0))


def fair(problem: Problem, budgets: Floats, most: float) -> Floats:
    """The split nearest in score to `budgets` in which no error is above `most` times its own optimum.

    The own optimum is the error of a target if all that it is computed from had the whole budget.
    """
    metric, feasible = problem.metric, problem.feasible
    limits = most * metric.target_errors(alone(feasible), exponent=_EXPONENT)
    limits = np.where(limits > 0, limits, np.inf)

    def excess(candidate: Floats) -> float:
        return float((metric.target_errors(candidate, exponent=_EXPONENT) / limits).max())

    if excess(budgets) <= 1.0:
        return budgets
    fairest = smallest_excess(problem, limits)
    reached = excess(fairest)
    if reached > 1.0:
        worst = metric.targets[int((metric.target_errors(fairest, exponent=_EXPONENT) / limits).argmax())]
        raise ParameterError(
            f"fairness: {most:g} cannot be kept: at the fairest split '{worst.name}' is {most * reached:.3g} times worse "
            "than with the whole budget for itself.",
            f"Write fairness: {float(f'{1.01 * most * reached:.2g}') + 0.1:.3g} or more, or publish fewer statistics.",
        )
    size = metric.score(budgets, exponent=_EXPONENT)
    found = budgets
    for penalty in _PENALTIES:

        def objective(candidate: Floats, weight: float = penalty * size) -> tuple[float, Floats]:
            errors, slopes = metric.gradient(candidate, exponent=_EXPONENT)
            over = np.maximum(errors / limits - 0.99, 0.0)
            pull = metric.shares + 2.0 * weight * over / limits
            return float(metric.shares @ errors + weight * (over**2).sum()), np.asarray(pull @ slopes)

        found = minimise(objective, feasible, problem.powers, found, tolerance=1e-6, steps=60).budgets
    # Errors are convex in the budgets, so the way to the fairest split ends inside the limits.
    near, far = 0.0, 1.0
    if excess(found) <= 1.0:
        return found
    for _ in range(30):
        middle = 0.5 * (near + far)
        near, far = (near, middle) if excess(found + middle * (fairest - found)) <= 1.0 else (middle, far)
    return np.asarray(found + far * (fairest - found))


def smallest_excess(problem: Problem, limits: Floats, start: Floats | None = None) -> Floats:
    """The split that makes the largest error/limit smallest (a p-norm stands for the maximum)."""

    def objective(budgets: Floats) -> tuple[float, Floats]:
        errors, slopes = problem.metric.gradient(budgets, exponent=_EXPONENT)
        ratios = errors / limits
        largest = float(ratios.max())
        weights = (ratios / largest) ** SHARPNESS
        value = largest * float(weights.sum()) ** (1.0 / SHARPNESS)
        pull = weights / np.maximum(ratios, 1e-300) / limits / weights.sum() * value
        return value, np.asarray(np.where(np.isfinite(limits), pull, 0.0) @ slopes)

    begin = square_root.allocate(problem) if start is None else start
    return minimise(objective, problem.feasible, problem.powers, begin, tolerance=1e-6, steps=120).budgets
