"""What a wrong guess costs: the plan against the best plan for the truth, at 10, 50 and 100 % off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.allocators.allocator import Problem
from coterie.statistics.design import Design
from coterie.statistics.expectations import Expectations
from coterie.statistics.metric import Metric
from coterie.statistics.optimise import minimise
from coterie.statistics.plan import GuessLoss
from coterie.statistics.scenarios import wrong_guesses

Array = NDArray[np.float64]
OFF_BY = (0.1, 0.5, 1.0)
_EXPONENT = 9


def guess_losses(design: Design, expectations: Expectations, budgets: Array) -> tuple[GuessLoss, ...]:
    """Relative excess of the score, mean and worst over several directions of error."""
    losses: list[GuessLoss] = []
    worst = 0.0
    for off_by in OFF_BY:
        excess = [_excess(design, metric, budgets) for metric in wrong_guesses(design, expectations, off_by)]
        if excess:
            # Off by up to 50 % includes off by 10 %: a clamp can make the far end harmless, never the whole way.
            worst = max(worst, *excess)
            losses.append(GuessLoss(off_by, float(np.mean(excess)), worst))
    return tuple(losses)


def _excess(design: Design, truth: Metric, budgets: Array) -> float:
    problem = Problem(truth, design.feasible)
    best = minimise(
        lambda candidate: truth.score_gradient(candidate, exponent=_EXPONENT),
        design.feasible,
        problem.powers,
        budgets,
        tolerance=1e-6,
        steps=40,
    )
    return max(truth.score(budgets, exponent=_EXPONENT) / best.value - 1.0, 0.0) if best.value > 0 else 0.0
