"""Make noisy numbers fit together (no negative counts, parts that add up), and say how far off they may be.

Post-processing of released values: free, and it lowers the error. The gap between the parts and their whole
is shared in proportion to the noise each carries (weighted least squares)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.measurement import Kind
from coterie.statistics.prediction.noise_model import REPLICATES, absolute_quantile, points
from coterie.statistics.prediction.rank_law import RankLaw
from coterie.statistics.prediction.target_error import PredictedError, Quantity
from coterie.statistics.specification.calculus import Linear, Range, Tape, range_of, ratio_form
from coterie.statistics.specification.equations import Expression, Op, name, names_in

_ROUNDS = 60


@dataclass(frozen=True)
class Constraint:
    """Σ parts = whole: indices of measurements; without a `whole`, the public number of records, `most`."""

    parts: NDArray[np.int64]
    whole: int | None
    most: float  # the number of records where it is public, else infinite
    nonnegative: bool


def constraints_of(design: Design) -> tuple[Constraint, ...]:
    place = {m.name: index for index, m in enumerate(design.measurements)}
    found = []
    for total in design.specification.totals:
        parts = [names_in(design.statistics[name]) for name in total.parts]
        whole = names_in(design.statistics[total.whole]) if total.whole is not None else ()
        # Sums that are derived from (n, Σ(y−c)) are no single measurement; they are left as they are.
        if any(len(part) != 1 for part in parts) or len(whole) > 1:
            continue
        indices = np.array([place[part[0]] for part in parts], dtype=np.int64)
        counts = all(design.measurements[index].kind is Kind.COUNT for index in indices)
        found.append(
            Constraint(
                indices,
                place[whole[0]] if whole else None,
                math.inf if design.specification.size is None else float(design.specification.size),
                counts,
            )
        )
    return tuple(found)


def reconcile(noisy: Floats, scales: Floats, constraints: Sequence[Constraint]) -> Floats:
    """Draws × measurements in, consistent ones out. Constraints that overlap are met in turn, repeatedly."""
    values = noisy.copy()
    variance = scales**2
    for _ in range(_ROUNDS if len(constraints) > 1 else 1):
        before = values.copy() if len(constraints) > 1 else values
        for constraint in constraints:
            _meet(values, variance, constraint)
        if len(constraints) > 1 and bool(np.allclose(before, values, rtol=0, atol=1e-9)):
            break
    return values


def _meet(values: Floats, variance: Floats, constraint: Constraint) -> None:
    parts = constraint.parts
    if constraint.whole is None:
        whole = np.full(len(values), constraint.most)
    else:
        gap = values[:, constraint.whole] - values[:, parts].sum(axis=1)
        spread = variance[parts].sum() + variance[constraint.whole]
        values[:, constraint.whole] -= gap * variance[constraint.whole] / spread
        if constraint.nonnegative:
            # A count of more than all records would be cut when it is shown, and the parts would no longer add up to it.
            values[:, constraint.whole] = np.clip(values[:, constraint.whole], 0.0, constraint.most)
        whole = values[:, constraint.whole]
    _share_gap(values, variance, constraint, whole)


def _share_gap(values: Floats, variance: Floats, constraint: Constraint, whole: Floats) -> None:
    """Move the parts onto the plane Σ = whole; with counts, parts that would go below zero stay at zero."""
    parts = constraint.parts
    current = values[:, parts]
    active = np.ones(current.shape, dtype=bool)
    for _ in range(len(parts)):
        weights = np.where(active, variance[parts], 0.0)
        spread = weights.sum(axis=1, keepdims=True)
        gap = whole[:, None] - np.where(active, current, 0.0).sum(axis=1, keepdims=True)
        moved = np.where(active, current + gap * weights / np.where(spread > 0, spread, 1.0), 0.0)
        if not constraint.nonnegative or not bool((moved < 0).any()):
            break
        active &= moved >= 0
    values[:, parts] = moved


# Errors and intervals by replaying the whole release: noise, consistency, statistics, equations.
#
# A predicted error replays the release at the expected values. An interval starts from the noisy measurements as they
# were drawn, before anything was cut at zero or at another bound: only there is the law of the error the law of the
# noise. Parts that must add up are adjusted linearly, which keeps that law; the interval is cut to what is possible last.

LEVEL = 0.95


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
    for error in design.metric.errors:
        sizes = np.abs(error.tape.value(values) - error.tape.value(truth))
        found.append(error.from_draws(np.broadcast_to(sizes, (len(uniform),))))
    return tuple(found)


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

    def intervals(self, noisy: Floats, level: float = LEVEL) -> dict[str, Range]:
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
        for error in design.metric.errors:
            target, inputs = error.target, error.inputs
            inside, outside = peel(target.expression)
            if len(inputs) == 1 and inside.op is Op.NAME and inputs[0] not in constrained:
                only = inputs[0]
                reach = _reach(design.metric.quantities[only], float(self.budgets[only]), level)
                at = _inside(outside, float(noisy[only]))
                ends = [at - reach, at + reach]
            else:
                ends = drawn.ends(inside, outside, level)
            shown = sorted(float(Tape.of(outside).value({INNER: np.asarray(end)})) for end in ends)
            possible = _possible(target.expression)
            found[target.name] = Range(max(shown[0], possible.lower), min(shown[-1], possible.upper))
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
            limits = _possible(inside)
            at = limits.clip(_inside(outside, at))
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
        limits = _possible(outside) if outside.op is not Op.NAME else _possible(inside)
        low, high = _tails(b_moved, level)
        if b - high <= 0.0 <= b - low:  # the divisor may be zero: nothing possible is excluded
            finite = [end for end in (limits.lower, limits.upper) if math.isfinite(end)]
            return [*finite, *self._bent(inside, outside, level)]
        middle = limits.clip(a / b)
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
        used = [(used, self.names.index(used)) for used in names_in(inside)]
        moved = {name: self.moved[:, i] for name, i in used}
        centre = {name: self.centre[i] for name, i in used}
        here = float(tape.value(centre))
        low, high = _tails(tape.value({name: centre[name] + moved[name] for name in moved}) - here, level)
        first, last = _tails(tape.value({name: centre[name] - moved[name] for name in moved}), level)
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


@lru_cache(maxsize=4096)  # every release of a design asks for the same ones
def _possible(expression: Expression) -> Range:
    return range_of(expression, {})


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


@lru_cache(maxsize=4096)
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
