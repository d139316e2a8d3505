"""The error of one target under given noise scales: closed form where there is one, Sobol points otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.autodiff import Tape
from coterie.statistics.prediction.linear import Linear, linear_form
from coterie.statistics.prediction.noise_model import (
    Family,
    absolute_quantile,
    from_uniform,
    mean_absolute,
    mean_absolute_sum,
    sum_gradient,
    tail_area_slope,
    upper_tail_area,
)
from coterie.statistics.prediction.predicted_error import (
    REPLICATES,
    Basis,
    PredictedError,
    Tabled,
    from_draws,
    points,
)
from coterie.statistics.prediction.rank_law import RankLaw
from coterie.statistics.specification.equations import Expression, Op, name, names_in

if TYPE_CHECKING:
    from coterie.statistics.prediction.metric import Quantity, Summary

PROBABILITY = {"median": 0.5, "p95": 0.95}
# A clamp that acts less often than this cannot be seen in any figure we print.
_NEVER = 1e-7
_SEEN = 0.01  # a clamp that takes away more than this part of an error is seen


@lru_cache(maxsize=64)
def unit_noise(families: tuple[Family, ...], exponent: int) -> tuple[Floats, ...]:
    """Noise of scale 1 at the Sobol points; any scale is a multiple of it."""
    uniform = points(len(families), exponent)
    return tuple(from_uniform(family, uniform[:, i], 1.0) for i, family in enumerate(families))


@dataclass(frozen=True)
class TargetError:
    tape: Tape
    names: tuple[str, ...]
    inputs: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    linear: Linear | None

    @classmethod
    def of(
        cls, expression: Expression, place: Mapping[str, int], quantities: Sequence[Quantity]
    ) -> TargetError:
        names = names_in(expression)
        inputs = tuple(place[name] for name in names)
        used = tuple(quantities[index] for index in inputs)
        return cls(Tape.of(expression), names, inputs, used, linear_form(expression))

    @property
    def families(self) -> tuple[Family, ...]:
        return tuple(quantity.family for quantity in self.quantities)

    @cached_property
    def tabled(self) -> Tabled | None:
        """The tables drawn for the quantiles among the inputs."""
        parts = [quantity.law.tabled for quantity in self.quantities if isinstance(quantity.law, RankLaw)]
        if not parts:
            return None
        return Tabled(
            max(part.most for part in parts),
            min(part.fewest for part in parts),
            all(part.declared for part in parts),
        )

    @cached_property
    def centre(self) -> Floats:
        return np.array([quantity.value for quantity in self.quantities])

    @cached_property
    def truth(self) -> float:
        """What the target is worth at the expected values."""
        return float(self.tape.value(dict(zip(self.names, self.centre, strict=True))))

    # --- the search: continuous noise, one allocation or many -------------------------------------------

    def estimate_many(self, scales: Floats, summary: Summary, exponent: int) -> Floats:
        used = scales[:, list(self.inputs)]
        if summary.value == "mean" and self._closed(used):
            return self._closed_mean(self._searched, used)
        results = np.empty(len(used))
        chunk = max(1, 2**16 >> exponent)  # arrays that stay in the cache of one core
        for start in range(0, len(used), chunk):
            part = slice(start, start + chunk)
            deviations = np.abs(self._draws(used[part], exponent))
            if summary.value == "mean":
                results[part] = deviations.mean(axis=1)
            else:
                results[part] = np.quantile(deviations, PROBABILITY[summary.value], axis=1)
        return results

    def closed_slope(self, scales: Floats) -> tuple[float, Floats] | None:
        """The mean error and its derivative by each input's scale, if there is a closed form."""
        used = scales[list(self.inputs)]
        if not self._closed(used[None, :]):
            return None
        error = float(self._closed_mean(self._searched, used[None, :])[0])
        return error, self._closed_slope(self._searched, used)

    @property
    def _searched(self) -> tuple[Family, ...]:
        """The families of the closed forms: one discrete Laplace noise has its own, which is smooth in ε."""
        if self.families == (Family.DISCRETE_LAPLACE,):
            return self.families
        return tuple(family.smooth for family in self.families)

    def _draws(self, used: Floats, exponent: int) -> Floats:
        """Deviations from the truth, allocations × points."""
        unit = unit_noise(tuple(family.smooth for family in self.families), exponent)
        noisy = {
            name: self.centre[index] + unit[index][None, :] * used[:, index, None]
            for index, name in enumerate(self.names)
        }
        return np.asarray(self.tape.value(noisy) - self.truth)

    # --- closed forms -----------------------------------------------------------------------------------

    def _closed(self, used: Floats) -> bool:
        """One clamped or unclamped noise, or a sum of noises whose clamps practically never act."""
        if self.linear is None:
            return False
        if len(self.inputs) == 1:
            return True
        distance = self.linear.room(self.names, self.centre)
        return bool((np.exp(-distance / used.max(axis=0)) < _NEVER).all())

    def _closed_mean(self, families: Sequence[Family], used: Floats) -> Floats:
        assert self.linear is not None
        coefficients = np.abs(self.linear.weights(self.names))
        if self.families == (Family.RANK,):  # the scale is the mean error itself; the grid lies in the domain
            return np.asarray(coefficients[0] * used[:, 0])
        if len(self.inputs) == 1:
            below, above = self.linear.sides(self.names[0], float(self.centre[0]))
            areas = [upper_tail_area(families[0], used[:, 0], np.asarray(room)) for room in (below, above)]
            return np.asarray(coefficients[0] * (areas[0] + areas[1]))
        return mean_absolute_sum(families, used * coefficients)

    def _closed_slope(self, families: Sequence[Family], used: Floats) -> Floats:
        assert self.linear is not None
        coefficients = np.abs(self.linear.weights(self.names))
        if self.families == (Family.RANK,):
            return coefficients
        if len(self.inputs) == 1:
            rooms = self.linear.sides(self.names[0], float(self.centre[0]))
            return coefficients * sum(tail_area_slope(families[0], float(used[0]), room) for room in rooms)
        return sum_gradient(families, used * coefficients) * coefficients

    # --- the report: the noise that is really drawn -----------------------------------------------------

    def report(self, name: str, budgets: Floats, exponent: int) -> PredictedError:
        """Mean with its standard error, median and 95 % point of the error."""
        used = budgets[list(self.inputs)]
        if self.linear is not None and len(self.inputs) == 1:
            return self._report_of_one(name, self.quantities[0], float(used[0]))
        drawn = self.labelled(from_draws(name, np.abs(self.simulate(used, exponent)), self.tabled))
        scales = np.array([float(q.law.scale(b)) for q, b in zip(self.quantities, used, strict=True)])
        if not self._closed(scales[None, :]) or not all(family.continuous for family in self.families):
            return drawn
        mean = float(self._closed_mean(self.families, scales[None, :])[0])
        return replace(drawn, mean=mean, standard_error=0.0, basis=Basis.CLOSED_FORM, between_tables=0.0)

    def _report_of_one(self, name: str, quantity: Quantity, budget: float) -> PredictedError:
        assert self.linear is not None
        factor = float(abs(self.linear.weights(self.names)[0]))
        if isinstance(quantity.law, RankLaw):
            law, tabled = quantity.law, quantity.law.tabled
            of_tables = factor * law.mean_errors(budget)
            error, between = tabled.spread(of_tables)
            median, p95 = (factor * law.within(budget, probability) for probability in (0.5, 0.95))
            return self.labelled(
                PredictedError(name, float(of_tables.mean()), error, median, p95, tabled.basis, between)
            )
        scale = float(quantity.law.scale(budget))
        mean = float(self._closed_mean(self.families, np.array([[scale]]))[0])
        sides = sorted(self.linear.sides(self.names[0], quantity.value))
        median, p95 = (
            factor * _clamped_quantile(quantity.family, scale, probability, *sides)
            for probability in (0.5, 0.95)
        )
        found = PredictedError(name, mean, 0.0, median, p95)
        free = factor * float(mean_absolute(quantity.family, np.asarray(scale)))
        return found if mean > (1 - _SEEN) * free else self.labelled(found)  # only then does the value matter

    def labelled(self, found: PredictedError) -> PredictedError:
        """Called an assumption if a value that it depends on was stated by nobody."""
        assumed = any(quantity.unstated for quantity in self.quantities)
        return replace(found, basis=Basis.ASSUMED) if assumed else found

    def simulate(self, used: Floats, exponent: int) -> Floats:
        """Deviations from the truth under the noise that is really drawn, over all scrambled sets."""
        uniform = points(len(self.inputs), exponent, REPLICATES)
        drawn = [
            quantity.draw(uniform[:, index], float(budget))
            for index, (quantity, budget) in enumerate(zip(self.quantities, used, strict=True))
        ]
        truth = {name: pair[0] for name, pair in zip(self.names, drawn, strict=True)}
        released = {name: pair[1] for name, pair in zip(self.names, drawn, strict=True)}
        return np.asarray(self.tape.value(released) - self.tape.value(truth))


def _clamped_quantile(family: Family, scale: float, probability: float, near: float, far: float) -> float:
    """The quantile of |clamp(v + noise) − v| when the clamps are `near` and `far` away."""
    free = absolute_quantile(family, scale, probability)
    if free <= near:
        return free
    # Beyond the nearer clamp only one tail is left: half the probability.
    one_sided = absolute_quantile(family, scale, 2 * probability - 1) if probability > 0.5 else 0.0
    return min(max(one_sided, near), far)


# Targets of the same form are evaluated together: fifty means are one array operation, not fifty.
#
# Two equations have the same form if they differ only in which quantities they use and in their constants.
# The form is an expression over x0, x1, … (quantities) and #0, #1, … (constants).


@dataclass(frozen=True)
class Form:
    """What equations of one form share."""

    expression: Expression
    families: tuple[Family, ...]
    summary: str


@dataclass(frozen=True)
class Batch:
    """`targets[i]` uses the quantities `inputs[i]` and the constants `constants[i]`."""

    form: Form
    tape: Tape
    targets: tuple[int, ...]
    inputs: NDArray[np.int64]
    constants: Floats

    def errors(
        self, members: NDArray[np.int64], scales: Floats, values: Floats, exponent: int, slopes: bool
    ) -> tuple[Floats, Floats]:
        """Errors (members) and, if asked for, their slopes by scale (members × inputs)."""
        inputs = self.inputs[members]
        constants = {f"#{j}": self.constants[members, j : j + 1] for j in range(self.constants.shape[1])}
        unit = unit_noise(tuple(family.smooth for family in self.form.families), exponent)
        count = inputs.shape[1]
        centre = {f"x{i}": values[inputs[:, i], None] for i in range(count)}
        noisy = {f"x{i}": centre[f"x{i}"] + scales[inputs[:, i], None] * unit[i] for i in range(count)}
        results = self.tape.run({**noisy, **constants})
        deviation = results[-1] - self.tape.value({**centre, **constants})
        size = np.abs(deviation)
        probability = PROBABILITY.get(self.form.summary)
        error = size.mean(axis=1) if probability is None else np.quantile(size, probability, axis=1)
        if not slopes:
            return error, np.empty((len(members), 0))
        gradients = self.tape.gradient(results, np.sign(deviation))
        weights = _weights(size, probability)
        slope = np.stack(
            [
                (np.broadcast_to(gradients[f"x{i}"] * unit[i], size.shape) * weights).sum(axis=1)
                for i in range(count)
            ],
            axis=1,
        )
        return error, slope


def _weights(size: Floats, probability: float | None) -> Floats:
    """Which draws carry the slope: all of them for a mean, those around it for a quantile."""
    if probability is None:
        return np.full((1, 1), 1.0 / size.shape[1])
    draws = size.shape[1]
    rank = np.argsort(np.argsort(size, axis=1), axis=1)
    near = np.abs(rank - int(probability * draws)) <= max(8, draws // 40)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def make_batches(
    expressions: Sequence[Expression],
    inputs: Sequence[tuple[int, ...]],
    families: Sequence[tuple[Family, ...]],
    summaries: Sequence[str],
) -> tuple[Batch, ...]:
    groups: dict[Form, list[tuple[int, list[float]]]] = {}
    for index, expression in enumerate(expressions):
        constants: list[float] = []
        places = {used: f"x{i}" for i, used in enumerate(names_in(expression))}
        form = Form(_form(expression, places, constants), families[index], summaries[index])
        groups.setdefault(form, []).append((index, constants))
    return tuple(
        Batch(
            form,
            Tape.of(form.expression),
            tuple(index for index, _ in members),
            np.array([inputs[index] for index, _ in members], dtype=np.int64).reshape(len(members), -1),
            np.array([constants for _, constants in members]).reshape(len(members), -1),
        )
        for form, members in groups.items()
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
