"""The metric of Nunes 2024 (eq. 5.13): how large the error of each statistic and each equation will be.

One noise, clamped or not, and sums of noises have closed forms; all else is a mean over Sobol points. The score is the
weighted mean of the targets' errors, each divided by its unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.noise_model import Family, ScaleLaw
from coterie.statistics.prediction.rank_law import RankLaw
from coterie.statistics.prediction.target_error import (
    PredictedError,
    Quantity,
    Target,
    TargetError,
    summarised,
    unit_draws,
    unit_noise,
)
from coterie.statistics.specification.calculus import Tape
from coterie.statistics.specification.equations import Expression, Op, name


@dataclass(frozen=True)
class NoiseSource:
    """Something measured: its noise, and how that depends on its budget."""

    name: str
    family: Family
    law: ScaleLaw | RankLaw


@dataclass(frozen=True)
class Metric:
    """Errors and score of allocations, if the quantities are worth what is expected."""

    quantities: tuple[Quantity, ...]
    targets: tuple[Target, ...]
    given: tuple[NoiseSource, ...] | None = None  # what is measured; None: every quantity by itself
    errors: tuple[TargetError, ...] = field(init=False, repr=False, compare=False)
    _batches: tuple[Batch, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        place = {quantity.name: index for index, quantity in enumerate(self.quantities)}
        errors = tuple(TargetError.of(target, place, self.quantities) for target in self.targets)
        object.__setattr__(self, "errors", errors)
        object.__setattr__(self, "_batches", make_batches(errors))

    @property
    def sources(self) -> tuple[NoiseSource, ...]:
        """What is measured, in the order of the budgets."""
        if self.given is not None:
            return self.given
        return tuple(NoiseSource(q.name, q.family, q.law) for q in self.quantities)

    @cached_property
    def source_of(self) -> NDArray[np.int64]:
        """For each quantity, whose budget pays for it."""
        placed = [place if q.source is None else q.source for place, q in enumerate(self.quantities)]
        return np.array(placed, dtype=np.int64)

    @property
    def values(self) -> Floats:
        return np.array([quantity.value for quantity in self.quantities])

    @property
    def shares(self) -> Floats:
        """How much each target's error counts in the score."""
        weights = np.array([target.weight / target.unit for target in self.targets])
        total = sum(target.weight for target in self.targets)
        return weights / total if total > 0 else weights

    @cached_property
    def _laws(self) -> tuple[ScaleLaw | RankLaw, ...]:
        """The noise law of each measurement: all that comes from one measurement has the same."""
        of = {source: q.law for source, q in zip(self.source_of.tolist(), self.quantities, strict=True)}
        return tuple(of[source] for source in range(len(of)))

    def scales(self, budgets: Floats) -> Floats:
        """Noise scales of the quantities for budgets of shape (…, sources)."""
        budgets = np.asarray(budgets, dtype=np.float64)
        columns = [law.scale(budgets[..., source]) for source, law in enumerate(self._laws)]
        return np.stack(columns, axis=-1)[..., self.source_of]

    @cached_property
    def _proportional(self) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
        """Targets whose mean error is a factor times one scale: which, the factors, and whose scale."""
        found = [(i, *pair) for i, e in enumerate(self.errors) if (pair := e.proportional) is not None]
        targets, factors, inputs = zip(*found, strict=True) if found else ((), (), ())
        return np.array(targets, dtype=np.int64), np.array(factors), np.array(inputs, dtype=np.int64)

    @cached_property
    def _others(self) -> tuple[int, ...]:
        return tuple(sorted(set(range(len(self.errors))) - set(self._proportional[0].tolist())))

    def truths(self) -> Floats:
        """What each target is worth without noise, at the expected values."""
        return np.array([error.truth for error in self.errors])

    def target_errors(self, budgets: Floats, exponent: int = 11) -> Floats:
        """Each target's error, by its own summary, under the noise of the search (continuous)."""
        return self._evaluate(budgets, exponent, slopes=False)[0]

    def score(self, budgets: Floats, exponent: int = 11) -> float:
        return float(self.shares @ self.target_errors(budgets, exponent))

    def gradient(self, budgets: Floats, exponent: int = 11) -> tuple[Floats, NDArray[np.float64]]:
        """All target errors and their derivatives by budget (targets × sources)."""
        errors, slopes = self._evaluate(budgets, exponent, slopes=True)
        return errors, slopes * [float(law.slope(b)) for law, b in zip(self._laws, budgets, strict=True)]

    def _evaluate(self, budgets: Floats, exponent: int, slopes: bool) -> tuple[Floats, NDArray[np.float64]]:
        """Errors and their derivatives by each source's scale: closed forms first, the rest in batches."""
        scales = self.scales(budgets)
        errors = np.full(len(self.targets), np.nan)
        slope = np.zeros((len(self.targets), len(self._laws))) if slopes else np.empty((0, 0))
        targets, factors, inputs = self._proportional
        errors[targets] = factors * scales[inputs]
        if slopes:
            slope[targets, self.source_of[inputs]] = factors
        for index in self._others:
            closed = self.errors[index].closed_slope(scales)
            if closed is not None:
                errors[index] = closed[0]
                if slopes:
                    np.add.at(slope[index], self.source_of[list(self.errors[index].inputs)], closed[1])
        for batch in self._batches:
            targets = np.array(batch.targets)
            members = np.flatnonzero(np.isnan(errors[targets]))
            if len(members):
                chosen = targets[members]
                errors[chosen], parts = batch.errors(members, scales, self.values, exponent, slopes)
                if slopes:
                    np.add.at(slope, (chosen[:, None], self.source_of[batch.inputs[members]]), parts)
        return errors, slope

    def score_gradient(self, budgets: Floats, exponent: int = 11) -> tuple[float, Floats]:
        errors, slopes = self.gradient(budgets, exponent)
        return float(self.shares @ errors), np.asarray(self.shares @ slopes)

    def predict(self, budgets: Floats, exponent: int = 10) -> tuple[PredictedError, ...]:
        """The full report under the noise that will really be drawn (discrete for counts)."""
        paid = np.asarray(budgets, dtype=np.float64)[self.source_of]
        return tuple(error.report(paid, exponent) for error in self.errors)

    def score_of(self, predictions: Sequence[PredictedError]) -> tuple[float, float]:
        """Score and its standard error from a report (errors of different targets add in the worst case)."""
        chosen = [getattr(p, t.summary.value) for p, t in zip(predictions, self.targets, strict=True)]
        spread = [p.simulation_error for p in predictions]  # tables differ alike under every split
        return float(self.shares @ np.array(chosen)), float(self.shares @ np.array(spread))

    def scores_of_many(
        self, budgets: Floats, exponent: int = 11, only: frozenset[int] | None = None
    ) -> Floats:
        """Scores of many allocations (allocations × sources); `only` counts targets of these sources."""
        scales, shares = self.scales(budgets), self.shares
        targets, factors, inputs = self._proportional
        if only is not None:
            counted = np.isin(self.source_of[inputs], list(only))
            targets, factors, inputs = targets[counted], factors[counted], inputs[counted]
        total = scales[:, inputs] @ (factors * shares[targets])
        for index in self._others:
            error = self.errors[index]
            if only is None or only.intersection(self.source_of[list(error.inputs)].tolist()):
                total += shares[index] * error.estimate_many(scales, exponent)
        return np.asarray(total)


# Targets of the same form are evaluated together: fifty means are one array operation, not fifty.
#
# Two equations have the same form if they differ only in which quantities they use and in their constants.
# The form is an expression over x0, x1, … (quantities) and #0, #1, … (constants).


@dataclass(frozen=True)
class Batch:
    """`targets[i]` uses the quantities `inputs[i]` and the constants `constants[i]`."""

    tape: Tape
    families: tuple[Family, ...]
    probability: float | None
    targets: tuple[int, ...]
    inputs: NDArray[np.int64]
    constants: Floats
    used: tuple[tuple[Quantity, ...], ...]
    mixed: bool
    drawn: dict[int, list[Floats]] = field(default_factory=dict, repr=False, compare=False)  # by exponent

    def errors(
        self, members: NDArray[np.int64], scales: Floats, values: Floats, exponent: int, slopes: bool
    ) -> tuple[Floats, Floats]:
        """Errors (members) and, if asked for, their slopes by scale (members × inputs)."""
        inputs = self.inputs[members]
        constants = {f"#{j}": self.constants[members, j : j + 1] for j in range(self.constants.shape[1])}
        count = inputs.shape[1]
        unit = self._unit(members, exponent)
        centre = {f"x{i}": values[inputs[:, i], None] for i in range(count)}
        noisy = {f"x{i}": centre[f"x{i}"] + scales[inputs[:, i], None] * unit[i] for i in range(count)}
        results = self.tape.run({**noisy, **constants})
        deviation = results[-1] - self.tape.value({**centre, **constants})
        size = np.abs(deviation)
        error = summarised(size, self.probability)
        if not slopes:
            return error, np.empty((len(members), 0))
        gradients = self.tape.gradient(results, np.sign(deviation), noisy)
        weights = _weights(size, self.probability)
        slope = np.stack(
            [
                (np.broadcast_to(gradients[f"x{i}"] * unit[i], size.shape) * weights).sum(axis=1)
                for i in range(count)
            ],
            axis=1,
        )
        return error, slope

    def _unit(self, members: NDArray[np.int64], exponent: int) -> list[Floats]:
        """Noise of scale 1 for each input: one row for all members, or one each where a joint measurement mixes it."""
        if not self.mixed:
            return list(unit_noise(tuple(family.smooth for family in self.families), exponent))
        if exponent not in self.drawn:
            drawn = [unit_draws(used, exponent) for used in self.used]
            self.drawn[exponent] = [np.stack(parts) for parts in zip(*drawn, strict=True)]
        return [parts[members] for parts in self.drawn[exponent]]


def _weights(size: Floats, probability: float | None) -> Floats:
    """Which draws carry the slope: all of them for a mean, those around it for a quantile."""
    if probability is None:
        return np.full((1, 1), 1.0 / size.shape[1])
    draws = size.shape[1]
    rank = np.argsort(np.argsort(size, axis=1), axis=1)
    near = np.abs(rank - int(probability * draws)) <= max(8, draws // 40)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def make_batches(errors: Sequence[TargetError]) -> tuple[Batch, ...]:
    groups: dict[
        tuple[Expression, tuple[Family, ...], float | None, bool], list[tuple[int, list[float]]]
    ] = {}
    for index, error in enumerate(errors):
        constants: list[float] = []
        places = {used: f"x{i}" for i, used in enumerate(error.names)}
        form = _form(error.target.expression, places, constants)
        key = form, error.families, error.target.summary.probability, bool(error.joints)
        groups.setdefault(key, []).append((index, constants))
    return tuple(
        Batch(
            Tape.of(form),
            families,
            probability,
            tuple(index for index, _ in members),
            np.array([errors[index].inputs for index, _ in members], dtype=np.int64).reshape(
                len(members), -1
            ),
            np.array([constants for _, constants in members]).reshape(len(members), -1),
            tuple(errors[index].quantities for index, _ in members),
            mixed,
        )
        for (form, families, probability, mixed), members in groups.items()
    )


def _form(node: Expression, places: dict[str, str], constants: list[float]) -> Expression:
    if node.op is Op.NAME:
        return name(places[node.name])
    if node.op is Op.NUMBER:
        constants.append(node.number)
        return name(f"#{len(constants) - 1}")
    if node.op is Op.POWER:  # the exponent decides the rule of the derivative: it stays
        return Expression(node.op, (_form(node.arguments[0], places, constants), node.arguments[1]))
    return Expression(node.op, tuple(_form(argument, places, constants) for argument in node.arguments))
