"""How far off released figures may be, by replaying the whole release: noise, one table, statistics, equations.

A predicted error replays the release at the expected values. An interval starts from the noisy measurements as they
were drawn, before anything was cut at zero or at another bound: only there is the law of the error the law of the
noise. Least squares is linear, which keeps that law; the interval is cut to what is possible last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.noise_model import REPLICATES, absolute_quantile, points
from coterie.statistics.prediction.rank_law import RankLaw
from coterie.statistics.prediction.reconstruction import Reconstruction
from coterie.statistics.prediction.target_error import PredictedError
from coterie.statistics.specification.calculus import Linear, Range, Tape, range_of, ratio_form
from coterie.statistics.specification.equations import Expression, Op, name, names_in

LEVEL = 0.95
_MANY = 5000  # numbers that are replayed less often
_MOST_WORK = 2e8  # of one prediction: draws × rows × cells
_MOST_REPLAYED = 2e5  # rows × cells of a table that is fitted in every draw; larger ones are not cut at zero
_TRIED, _AGAINST = 256, 128  # releases of the published figures that intervals are tried on; draws of each
_STRAIGHT = 0.05  # of its spread: how far noise may bend a figure before its interval is tried


def predict_consistent(design: Design, budgets: Floats, exponent: int = 10) -> tuple[PredictedError, ...]:
    """Predicted errors with the reconstruction in the loop, if the truth is as expected."""
    metric = design.metric
    made = design.reconstruction(budgets)
    sizes = [0 if g.rows is None else g.rows.size for g in design.groups]
    linked = any(links.linked for links in made.links)
    large = max(sizes, default=0) > _MOST_REPLAYED or linked
    largest = max([len(g.cells) for g in design.groups] if large else sizes, default=1)
    draws = min(REPLICATES << exponent, max(int(_MOST_WORK / max(largest, 1)), 512))
    draws -= draws % REPLICATES
    drawn, truth = _replayed(design, budgets, draws)
    grouped = {q for group in design.groups for q in group.quantities}
    values = made.in_order(made.linear(drawn)) if large else made.fitted(drawn)
    if linked:  # guesses about different tables may contradict each other, which is no noise
        exact = made.linear(_expected_rows(design)[None, :])[0]
        truth = [exact[q] if q in grouped else value for q, value in enumerate(truth)]
    found = []
    for error in metric.errors:
        here = {name: values[:, i] for name, i in zip(error.names, error.inputs, strict=True)}
        true = {name: truth[i] for name, i in zip(error.names, error.inputs, strict=True)}
        off = np.abs(error.tape.value(here) - error.tape.value(true))
        found.append(error.from_draws(np.broadcast_to(off, (draws,))))
    return tuple(found)


def _replayed(design: Design, budgets: Floats, draws: int) -> tuple[Floats, list[Floats]]:
    """All numbers that would be measured (draws × numbers), and the truth of each quantity."""
    metric, starts = design.metric, design.starts
    singles = [i for i, m in enumerate(design.measurements) if not isinstance(m, JointMeasurement)]
    uniform = _points(len(singles), draws)
    drawn = np.tile(_expected_rows(design), (draws, 1))
    truth: list[Floats] = [np.asarray(q.value) for q in metric.quantities]
    quantity_of = dict(zip(metric.source_of.tolist(), range(len(truth)), strict=True))
    for place, index in enumerate(singles):
        q = quantity_of[index]
        truth[q], drawn[:, starts[index]] = metric.quantities[q].draw(
            uniform[:, place], float(budgets[index])
        )
    for index, (m, source) in enumerate(zip(design.measurements, metric.sources, strict=True)):
        if isinstance(m, JointMeasurement):
            noise = m.noise(source.family, source.law.noise_scale(float(budgets[index])), draws)
            drawn[:, starts[index] : starts[index + 1]] += noise
    return drawn, truth


def _points(dimension: int, draws: int) -> Floats:
    if dimension == 0:
        return np.empty((draws, 0))
    exponent = max((draws // REPLICATES - 1).bit_length(), 0)
    spread = points(dimension, exponent, REPLICATES)
    return spread.reshape(REPLICATES, -1, dimension)[:, : draws // REPLICATES].reshape(draws, dimension)


@dataclass(frozen=True)
class Replay:
    """How far noise takes everything asked from the truth: `moved`, draws × quantities."""

    design: Design
    budgets: Floats
    made: Reconstruction
    moved: NDArray[np.float64]

    @classmethod
    def of(cls, design: Design, budgets: Floats) -> Replay:
        made = design.reconstruction(budgets)
        many = design.starts[-1] > _MANY or any(links.linked for links in made.links)
        draws = REPLICATES << (7 if many else 9)
        drawn, truth = _replayed(design, budgets, draws)
        exact = made.linear(_expected_rows(design)[None, :])[0]
        moved = made.linear(drawn) - exact
        for q in made.alone:  # a quantile's truth differs from table to table
            moved[:, q] = drawn[:, design.starts[design.metric.source_of[q]]] - truth[q]
        return cls(design, budgets, made, moved)

    def intervals(
        self, noisy: Floats, level: float = LEVEL, published: Floats | None = None
    ) -> dict[str, Range]:
        """For each target an interval that covers the noiseless value with this probability.

        One measurement alone: the noise's own quantile, exact; for a chosen quantile, as far as its shape is as
        declared. Linear targets and ratios: from the law of the noise, exact up to simulation. Other equations: from
        replays at the drawn values, as wide as covers the `published` quantities when these are released anew.
        """
        design = self.design
        centre = self.made.linear(noisy[None, :])[0]
        if published is None:
            published = self.made.fitted(noisy[None, :])[0]
        names = tuple(quantity.name for quantity in design.metric.quantities)
        drawn = _Drawn(names, centre, self.moved, published)
        free = _free(design, self.made, noisy, centre)
        found = {}
        for error in design.metric.errors:
            target, inputs = error.target, error.inputs
            inside, outside = peel(target.expression)
            if len(inputs) == 1 and inside.op is Op.NAME and inputs[0] in free:
                ends = self._alone(inputs[0], float(centre[inputs[0]]), _cut(outside), level)
            else:
                ends = drawn.ends(inside, outside, level)
            shown = sorted(float(Tape.of(outside).value({INNER: np.asarray(end)})) for end in ends)
            possible = possible_range(target.expression)
            found[target.name] = Range(max(shown[0], possible.lower), min(shown[-1], possible.upper))
        return found

    def _alone(self, quantity: int, centre: float, cut: Range, level: float) -> list[float]:
        """The interval of a quantity whose target is one measured number."""
        measured = self.design.metric.quantities[quantity]
        paid = float(self.budgets[self.design.metric.source_of[quantity]])
        if isinstance(measured.law, RankLaw):
            at, reach = cut.clip(centre), measured.law.within(paid, level)
            return [at - reach, at + reach]
        scale = float(measured.law.scale(paid))

        def ends(at: float, level: float) -> tuple[float, float]:
            reach = absolute_quantile(measured.family, scale, level)
            return at - reach, at + reach

        return near_a_bound(ends, centre, cut, level)


def _expected_rows(design: Design) -> Floats:
    """What would be measured without noise, if the truth is as expected."""
    rows = np.zeros(design.starts[-1])
    for q, source in zip(design.metric.quantities, design.metric.source_of, strict=True):
        if q.joint is None:
            rows[design.starts[source]] = q.value
    for group, table in zip(design.groups, design.tables, strict=True):
        if group.joint is not None:
            (index,) = group.measured
            exact = table if group.joint.rows is None else group.joint.weights @ table
            rows[design.starts[index] : design.starts[index + 1]] = exact
    return rows


def _free(design: Design, made: Reconstruction, noisy: Floats, centre: Floats) -> set[int]:
    """Quantities that are one number as it was measured: the law of its noise is known exactly."""
    found = set(made.alone.tolist())
    for group, fit in zip(made.groups, made.fits, strict=True):
        if group.joint is not None or fit.records is not None:
            continue
        for q, index in zip(group.quantities, group.measured, strict=True):
            if abs(centre[q] - noisy[design.starts[index]]) <= 1e-9 * max(abs(centre[q]), 1.0):
                found.add(q)
    return found


@dataclass(frozen=True)
class _Drawn:
    """One release: `centre`, what was measured, made to add up; the noise that may have moved it; what is published."""

    names: tuple[str, ...]
    centre: Floats
    moved: NDArray[np.float64]
    published: Floats

    def ends(self, inside: Expression, outside: Expression, level: float) -> list[float]:
        form = ratio_form(inside)
        if form is None:
            return self._bent(inside, outside, level)
        top, bottom = form
        if not bottom.coefficients:
            centre, moved = self._linear(top)

            def ends(at: float, level: float) -> tuple[float, float]:
                low, high = _tails(moved, level)
                return at - high, at - low

            return near_a_bound(ends, centre, _both(_cut(outside), possible_range(inside)), level)
        return self._ratio(top, bottom, inside, outside, level)

    def _linear(self, form: Linear) -> tuple[float, Floats]:
        used = [self._place[name] for name in form.coefficients]
        weights = np.array(list(form.coefficients.values()))
        return form.constant + float(self.centre[used] @ weights), np.asarray(self.moved[:, used] @ weights)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def _ratio(
        self, top: Linear, bottom: Linear, inside: Expression, outside: Expression, level: float
    ) -> list[float]:
        """All θ for which top − θ·bottom is within its noise of zero (Fieller 1954): exact for every bottom."""
        (a, a_moved), (b, b_moved) = self._linear(top), self._linear(bottom)
        limits = possible_range(outside) if outside.op is not Op.NAME else possible_range(inside)
        low, high = _tails(b_moved, level)
        if b - high <= 0.0 <= b - low:  # the divisor may be zero: nothing possible is excluded
            finite = [end for end in (limits.lower, limits.upper) if math.isfinite(end)]
            return [*finite, *self._bent(inside, outside, level)]

        rest = b - b_moved  # what the divisor would be without its noise; a few draws may turn it round
        sound = rest * b > 0.0
        turned = len(rest) - int(np.count_nonzero(sound))

        def ends(middle: float, level: float) -> tuple[float, float]:
            """(middle − θ)·b is a draw of top − θ·bottom for θ = (middle·b − top)/(b − bottom): their tails."""
            ratios = (middle * b - a_moved[sound]) / rest[sound]
            beyond = max(_beyond(len(rest), level) - turned, 0)
            return _at_ends(ratios, beyond)

        return near_a_bound(ends, a / b, limits, level)

    def _bent(self, inside: Expression, outside: Expression, level: float) -> list[float]:
        """The values that noise may have come from. One end of them is the truth as often as the other.

        A noisy divisor may spread them too little: then so many more of them as cover the published value when that is the
        truth of new releases (prepivoting, Beran 1987). Never fewer: the published value is not the truth. Where all lie
        beyond what is possible, the figure is taken as if measured at the bound.
        """
        tape, used = Tape.of(inside), [(used, self._place[used]) for used in names_in(inside)]

        def value(start: Floats, moved: NDArray[np.float64]) -> Floats:
            return np.asarray(tape.value({name: start[i] + moved[..., i] for name, i in used}))

        still = np.zeros_like(self.centre)
        back, here = value(self.centre, -self.moved), float(value(self.centre, still))
        cut = _both(_cut(outside), possible_range(inside))
        ahead = value(self.centre, self.moved)
        bent = np.median(np.abs(back + ahead - 2 * here)) > _STRAIGHT * np.median(np.abs(ahead - back))
        off: Floats | None = None
        if bent and any(node.op is Op.DIVIDE for node in tape.nodes):
            truth = cut.clip(float(value(self.published, still)))
            again = value(self.published, self.moved[:_TRIED, None] - self.moved[-_AGAINST:])
            rank = (again < truth).mean(axis=1) + (again == truth).mean(axis=1) / 2
            off = np.abs(2.0 * rank - 1.0)

        def ends(at: float, level: float) -> tuple[float, float]:
            low, high = _tails(back, level if off is None else max(float(np.quantile(off, level)), level))
            return at + low - here, at + high - here

        low, high = ends(here, level)
        if low < cut.upper and cut.lower < high:
            return [low, high]
        return near_a_bound(ends, here, cut, level)


def _tails(draws: Floats, level: float) -> tuple[float, float]:
    """The two ends that hold this share of the draws, rounded outwards where draws are tied."""
    return _at_ends(draws, _beyond(len(draws), level))


def _at_ends(draws: Floats, beyond: int) -> tuple[float, float]:
    last = len(draws) - 1 - beyond
    parted = np.partition(draws, (beyond, last))
    return float(parted[beyond]), float(parted[last])


def _beyond(draws: int, level: float) -> int:
    return int((1.0 - level) / 2.0 * draws)


@lru_cache(maxsize=4096)  # every release of a design asks for the same ones
def possible_range(expression: Expression) -> Range:
    return range_of(expression, {})


def near_a_bound(
    ends: Callable[[float, float], tuple[float, float]], centre: float, cut: Range, level: float
) -> list[float]:
    """An interval that covers as often as it says also where the truth lies at a bound; `ends(at, level)` without one.

    A count measured as −50 is shown as 0, and its interval is that of a measured 0: never empty. So a small truth is
    never above its interval, and the lower end may miss it twice as often as elsewhere: up to `reach`, the upper end
    of an interval around the bound. The same at an upper bound; not where noise is wider than what is possible.
    """
    at = cut.clip(centre)
    low, high = ends(at, level)
    width = high - low
    if low - width > cut.lower and high + width < cut.upper:
        return [low, high]
    hair = 1e-5 * width  # on whole steps a truth may lie exactly there
    reach = ends(cut.lower, level)[1] + hair if math.isfinite(cut.lower) else -math.inf
    other = ends(cut.upper, level)[0] - hair if math.isfinite(cut.upper) else math.inf
    if reach > other:
        return [low, high]
    nearer = ends(at, 2.0 * level - 1.0)
    if math.isfinite(cut.lower):
        low = min(nearer[0], max(low, reach))
    if math.isfinite(cut.upper):
        high = max(nearer[1], min(high, other))
    return [low, high]


def _both(one: Range, other: Range) -> Range:
    return Range(max(one.lower, other.lower), min(one.upper, other.upper))


def _cut(outside: Expression) -> Range:
    """Where the outside cuts off what is inside."""
    while outside.arguments and outside.arguments[0] != name(INNER):
        outside = outside.arguments[0]
    if outside.op is Op.CLAMP:
        return Range(outside.arguments[1].number, outside.arguments[2].number)
    if outside.op is Op.MAX:
        return Range(outside.arguments[1].number, math.inf)
    if outside.op is Op.MIN:
        return Range(-math.inf, outside.arguments[1].number)
    return Range(0.0, math.inf) if outside.op is Op.SQRT else Range(-math.inf, math.inf)


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
