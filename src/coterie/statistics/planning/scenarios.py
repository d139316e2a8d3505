"""Other values the statistics might have: points of the stated ranges, and guesses that are off."""

from __future__ import annotations

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators.allocator import Problem
from coterie.statistics.planning.design import Design, metric_at
from coterie.statistics.planning.optimise import minimise
from coterie.statistics.planning.plan import GuessLoss
from coterie.statistics.prediction.derivation import domain_of
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.prediction.predicted_error import points
from coterie.statistics.specification.expectations import Expectations

INNER_POINTS = 8


def possible_truths(design: Design, expectations: Expectations) -> tuple[Metric, ...]:
    """The metric at both ends of all ranges, in their middle, and at Sobol points between."""
    specification = design.specification
    ranged = [(s.name, s.possible) for s in specification.statistics if s.possible is not None]
    if not ranged:
        return ()
    inner = points(len(ranged), 3)[:INNER_POINTS]
    corners = np.vstack([np.zeros(len(ranged)), np.ones(len(ranged)), np.full(len(ranged), 0.5)])
    alternating = np.arange(len(ranged)) % 2
    places = np.vstack([corners, alternating, 1 - alternating, inner])
    metrics = []
    for place in places:
        values = {
            name: possible.lower + float(at) * possible.width
            for (name, possible), at in zip(ranged, place, strict=True)
        }
        metrics.append(metric_at(design, Expectations.of(specification, {**expectations.given, **values})))
    return tuple(metrics)


def wrong_guesses(design: Design, expectations: Expectations, off_by: float) -> tuple[Metric, ...]:
    """The metric when the truth is the guess times or divided by 1 + off_by: all one way, and mixed."""
    specification = design.specification
    names = sorted(expectations.given)
    if not names:
        return ()
    signs = [np.ones(len(names)), -np.ones(len(names))]
    if len(names) > 1:
        mixed = np.where(np.arange(len(names)) % 2 == 0, 1.0, -1.0)
        signs += [mixed, -mixed]
    metrics = []
    for sign in signs:
        values = {}
        for name, direction in zip(names, sign, strict=True):
            domain = domain_of(specification, specification[name])
            value = expectations.given[name] * (1.0 + off_by) ** direction
            values[name] = min(max(value, domain.lower), domain.upper)
        metrics.append(metric_at(design, Expectations.of(specification, values)))
    return tuple(metrics)


# What a wrong guess costs: the plan against the best plan for the truth, at 10, 50 and 100 % off.

OFF_BY = (0.1, 0.5, 1.0)
_EXPONENT = 9


def guess_losses(design: Design, expectations: Expectations, budgets: Floats) -> tuple[GuessLoss, ...]:
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


def _excess(design: Design, truth: Metric, budgets: Floats) -> float:
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
