"""Errors and intervals by replaying the whole release: noise, consistency, statistics, equations.

Used for prediction where consistency changes the errors, and for the confidence intervals of a release, where
the released values stand in for the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.consistency import constraints_of, reconcile
from coterie.statistics.design import Design
from coterie.statistics.expression import Expression, Op, name
from coterie.statistics.linear import linear_form
from coterie.statistics.metric import Quantity
from coterie.statistics.noise_model import absolute_quantile
from coterie.statistics.predicted_error import PredictedError, from_draws
from coterie.statistics.rank_law import RankLaw
from coterie.statistics.sobol import REPLICATES, points
from coterie.statistics.tape import Tape

Array = NDArray[np.float64]
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    lower: float
    upper: float


def deviations(design: Design, budgets: Array, centre: Array | None, exponent: int = 10) -> dict[str, Array]:
    """How far each target falls from the truth, over the Sobol draws of all noises at once.

    The truth is what is expected, or `centre`; then rising functions are taken off the targets (see `peel`).
    """
    quantities = design.metric.quantities
    uniform = points(len(quantities), exponent, REPLICATES)
    truth, released = {}, []
    for i, quantity in enumerate(quantities):
        at, drawn = quantity.draw(uniform[:, i], float(budgets[i]))
        if centre is not None:
            at, drawn = np.asarray(centre[i]), drawn - at + centre[i]
        truth[quantity.name] = at
        released.append(drawn)
    scales = design.metric.scales(budgets)
    noisy = reconcile(np.stack(released, axis=1), scales, constraints_of(design))
    values = {quantity.name: noisy[:, i] for i, quantity in enumerate(quantities)}
    results = {}
    for target in design.metric.targets:
        tape = Tape.of(target.expression if centre is None else peel(target.expression)[0])
        moved = tape.value(values) - tape.value(truth)
        results[target.name] = np.broadcast_to(moved, (len(uniform),))
    return results


def predict_consistent(design: Design, budgets: Array, exponent: int = 10) -> tuple[PredictedError, ...]:
    """Predicted errors with the consistency step in the loop."""
    moved = deviations(design, budgets, None, exponent)
    return tuple(
        error.labelled(from_draws(target.name, np.abs(moved[target.name]), error.tabled))
        for target, error in zip(design.metric.targets, design.metric.errors, strict=True)
    )


def intervals(design: Design, budgets: Array, released: Array, level: float = LEVEL) -> dict[str, Interval]:
    """For each target an interval that covers the noiseless value with this probability.

    One measurement alone: the noise's own quantile, exact; for a chosen quantile, as far as its shape is as
    declared. Otherwise the release is replayed with the
    released values as the truth, and its deviations are turned round (basic bootstrap), which is approximate
    where an equation bends strongly within the noise; there the interval is made wider, not narrower.
    """
    tail = (1.0 - level) / 2.0
    moved = deviations(design, budgets, released)
    values = {quantity.name: released[i] for i, quantity in enumerate(design.metric.quantities)}
    plain = not constraints_of(design)
    found = {}
    for target, inputs in zip(design.metric.targets, design.metric.inputs, strict=True):
        tape = Tape.of(target.expression)
        if plain and len(inputs) == 1 and not target.is_equation:
            only = design.metric.quantities[inputs[0]]
            reach = _reach(only, float(budgets[inputs[0]]), level)
            ends = sorted(
                float(tape.value({only.name: np.asarray(values[only.name] + sign * reach)}))
                for sign in (-1.0, 1.0)
            )
            found[target.name] = Interval(ends[0], ends[1])
            continue
        inner, outer = peel(target.expression)
        at = float(Tape.of(inner).value(values))
        low, high = (float(q) for q in np.quantile(moved[target.name], (tail, 1.0 - tail)))
        corners = [at - high, at - low]
        if linear_form(inner) is None:
            # The replay happens at a noisy point, where the skew may be another: cover both readings of it.
            corners += [at + low, at + high]
        ends = sorted(float(Tape.of(outer).value({INNER: np.asarray(end)})) for end in corners)
        found[target.name] = Interval(ends[0], ends[-1])
    return found


def _reach(quantity: Quantity, budget: float, level: float) -> float:
    if isinstance(quantity.law, RankLaw):
        return quantity.law.within(budget, level)
    return absolute_quantile(quantity.family, float(quantity.law.scale(budget)), level)


INNER = "inside"
_RISING = (Op.CLAMP, Op.SQRT, Op.EXP)


def peel(expression: Expression) -> tuple[Expression, Expression]:
    """(inside, outside) with a rising `outside`: clamps, roots and maxima with a number are taken off.

    What is left inside is nearly linear in the noise, where turning the deviations round is sound; the
    interval's ends then pass through the outside, as any rising function allows.
    """
    if expression.op in _RISING:
        inside, outside = peel(expression.arguments[0])
        return inside, Expression(expression.op, (outside, *expression.arguments[1:]))
    if expression.op in (Op.MAX, Op.MIN) and expression.arguments[1].op is Op.NUMBER:
        inside, outside = peel(expression.arguments[0])
        return inside, Expression(expression.op, (outside, expression.arguments[1]))
    return expression, name(INNER)
