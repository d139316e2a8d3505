"""Errors and intervals by replaying the whole release: noise, consistency, statistics, equations.

A predicted error replays the release at the expected values. An interval starts from the noisy measurements as they
were drawn, before anything was cut at zero or at another bound: only there is the law of the error the law of the
noise. Parts that must add up are adjusted linearly, which keeps that law; the interval is cut to what is possible last."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.autodiff import Tape
from coterie.statistics.prediction.linear import Linear, ratio_form
from coterie.statistics.prediction.metric import Quantity
from coterie.statistics.prediction.noise_model import absolute_quantile
from coterie.statistics.prediction.predicted_error import REPLICATES, PredictedError, from_draws, points
from coterie.statistics.prediction.rank_law import RankLaw
from coterie.statistics.releasing.consistency import Constraint, constraints_of, reconcile
from coterie.statistics.specification.equations import Expression, Op, name
from coterie.statistics.specification.ranges import range_of

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    lower: float
    upper: float


def predict_consistent(design: Design, budgets: Floats, exponent: int = 10) -> tuple[PredictedError, ...]:
    """Predicted errors with the consistency step in the loop, if the truth is as expected."""
    quantities = design.metric.quantities
    uniform = points(len(quantities), exponent, REPLICATES)
    pairs = [q.draw(uniform[:, i], float(budgets[i])) for i, q in enumerate(quantities)]
    drawn = np.stack([released for _, released in pairs], axis=1)
    noisy = reconcile(drawn, design.metric.scales(budgets), constraints_of(design))
    truth = {quantity.name: at for quantity, (at, _) in zip(quantities, pairs, strict=True)}
    values = {quantity.name: noisy[:, i] for i, quantity in enumerate(quantities)}
    found = []
    for target, error in zip(design.metric.targets, design.metric.errors, strict=True):
        tape = Tape.of(target.expression)
        sizes = np.broadcast_to(np.abs(tape.value(values) - tape.value(truth)), (len(uniform),))
        found.append(error.labelled(from_draws(target.name, sizes, error.tabled)))
    return tuple(found)


def intervals(design: Design, budgets: Floats, noisy: Floats) -> dict[str, Interval]:
    """The 95 % intervals of one release; `noisy` are the measurements as drawn."""
    return Replay.of(design, budgets).intervals(noisy)


@dataclass(frozen=True)
class Replay:
    """How far noise takes all measurements from the truth: `moved`, draws × measurements, after adding up."""

    design: Design
    budgets: Floats
    moved: NDArray[np.float64]

    @classmethod
    def of(cls, design: Design, budgets: Floats) -> Replay:
        quantities = design.metric.quantities
        uniform = points(len(quantities), 9, REPLICATES)
        noise = []
        for i, quantity in enumerate(quantities):
            truth, released = quantity.draw(uniform[:, i], float(budgets[i]))
            noise.append(np.broadcast_to(released - truth, (len(uniform),)))
        scales = design.metric.scales(budgets)
        # The truth adds up already, so its noise is made to add up to nothing.
        linear = [replace(constraint, most=0.0) for constraint in _linear_constraints(design)]
        return cls(design, budgets, reconcile(np.stack(noise, axis=1), scales, linear))

    def intervals(self, noisy: Floats, level: float = LEVEL) -> dict[str, Interval]:
        """For each target an interval that covers the noiseless value with this probability.

        One measurement alone: the noise's own quantile, exact; for a chosen quantile, as far as its shape is as
        declared. Linear targets and ratios: from the law of the noise, exact up to simulation. Other equations: from
        replays at the drawn values, approximate where an equation bends strongly within the noise.
        """
        design = self.design
        constraints = _linear_constraints(design)
        centre = reconcile(noisy[None, :], design.metric.scales(self.budgets), constraints)[0]
        drawn = _Drawn(tuple(quantity.name for quantity in design.metric.quantities), centre, self.moved)
        constrained = {int(i) for c in constraints for i in (*c.parts, c.whole) if i is not None}
        found = {}
        for target, inputs in zip(design.metric.targets, design.metric.inputs, strict=True):
            inside, outside = peel(target.expression)
            if len(inputs) == 1 and inside.op is Op.NAME and inputs[0] not in constrained:
                only = inputs[0]
                reach = _reach(design.metric.quantities[only], float(self.budgets[only]), level)
                at = _inside(outside, float(noisy[only]))
                ends = [at - reach, at + reach]
            else:
                ends = drawn.ends(inside, outside, level)
            shown = sorted(float(Tape.of(outside).value({INNER: np.asarray(end)})) for end in ends)
            possible = range_of(target.expression, {})
            found[target.name] = Interval(max(shown[0], possible.lower), min(shown[-1], possible.upper))
        return found


def _linear_constraints(design: Design) -> list[Constraint]:
    """Without the cut at zero, adding up is linear: the error keeps its law whatever the truth is."""
    return [replace(constraint, nonnegative=False) for constraint in constraints_of(design)]


@dataclass(frozen=True)
class _Drawn:
    """One release: `centre`, what was measured, made to add up; and the noise that may have moved it there."""

    names: tuple[str, ...]
    centre: Floats
    moved: NDArray[np.float64]

    def ends(self, inside: Expression, outside: Expression, level: float) -> list[float]:
        form = ratio_form(inside)
        if form is None:
            return self._bent(inside, outside, level)
        top, bottom = form
        if not bottom.coefficients:
            at, moved = self._linear(top)
            limits = range_of(inside, {})
            at = min(max(_inside(outside, at), limits.lower), limits.upper)
            low, high = _tails(moved, level)
            return [at - high, at - low]
        return self._ratio(top, bottom, inside, outside, level)

    def _linear(self, form: Linear) -> tuple[float, Floats]:
        weights = form.weights(self.names)
        return form.constant + float(self.centre @ weights), np.asarray(self.moved @ weights)

    def _ratio(
        self, top: Linear, bottom: Linear, inside: Expression, outside: Expression, level: float
    ) -> list[float]:
        """All θ for which top − θ·bottom is within its noise of zero (Fieller 1954): exact for every bottom."""
        (a, a_moved), (b, b_moved) = self._linear(top), self._linear(bottom)
        limits = range_of(outside, {}) if outside.op is not Op.NAME else range_of(inside, {})
        low, high = _tails(b_moved, level)
        if b - high <= 0.0 <= b - low:  # the divisor may be zero: nothing possible is excluded
            finite = [end for end in (limits.lower, limits.upper) if math.isfinite(end)]
            return [*finite, *self._bent(inside, outside, level)]
        middle = min(max(a / b, limits.lower), limits.upper)
        first, last = _tails(a_moved - middle * b_moved, level)

        beyond = _beyond(len(a_moved), level)

        def within(ratio: float) -> bool:
            """Does (middle − ratio)·b lie between the tails? Counting is cheaper than finding the tails."""
            draws, at = a_moved - ratio * b_moved, (middle - ratio) * b
            return bool(np.count_nonzero(draws <= at) > beyond and np.count_nonzero(draws >= at) > beyond)

        ends = []
        for side, limit in ((-1.0, limits.lower), (1.0, limits.upper)):
            edge, step = middle, side * (last - first) / abs(b) / 8.0
            while step and side * edge < side * limit and within(edge + step) and abs(step) < 1e300:
                edge, step = edge + step, 2.0 * step
            for _ in range(14):
                step /= 2.0
                edge = edge + step if within(edge + step) else edge
            ends.append(edge)
        return ends

    def _bent(self, inside: Expression, outside: Expression, level: float) -> list[float]:
        """Both readings of a replay: its deviations turned round, and the values that noise may have come from."""
        tape = Tape.of(inside)

        def at(values: Floats) -> Floats:
            return np.asarray(tape.value({name: values[..., i] for i, name in enumerate(self.names)}))

        here = float(at(self.centre))
        low, high = _tails(at(self.centre + self.moved) - here, level)
        first, last = _tails(at(self.centre - self.moved), level)
        middle = _inside(outside, here)
        return [middle - high, middle - low, first, last]


def _tails(draws: Floats, level: float) -> tuple[float, float]:
    """The two ends that hold this share of the draws, rounded outwards where draws are tied."""
    beyond = _beyond(len(draws), level)
    last = len(draws) - 1 - beyond
    parted = np.partition(draws, (beyond, last))
    return float(parted[beyond]), float(parted[last])


def _beyond(draws: int, level: float) -> int:
    return int((1.0 - level) / 2.0 * draws)


def _reach(quantity: Quantity, budget: float, level: float) -> float:
    if isinstance(quantity.law, RankLaw):
        return quantity.law.within(budget, level)
    return absolute_quantile(quantity.family, float(quantity.law.scale(budget)), level)


def _inside(outside: Expression, at: float) -> float:
    """The point nearest to `at` that the outside does not cut off.

    A count measured as −50 is shown as 0. Its interval then starts at 0 and reaches as far as that of a measured 0,
    so it is never empty, and never narrower than cutting alone would make it.
    """
    while outside.arguments and outside.arguments[0] != name(INNER):
        outside = outside.arguments[0]
    if outside.op is Op.CLAMP:
        return min(max(at, outside.arguments[1].number), outside.arguments[2].number)
    if outside.op is Op.MAX:
        return max(at, outside.arguments[1].number)
    if outside.op is Op.MIN:
        return min(at, outside.arguments[1].number)
    return max(at, 0.0) if outside.op is Op.SQRT else at


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
