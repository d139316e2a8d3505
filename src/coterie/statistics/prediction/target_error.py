"""The error of one target under given noise: closed form where there is one, Sobol points otherwise.

A *quantity* is what gets noise; a *target* is what analysts read: a statistic or an equation, as an expression over
quantities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.noise_model import (
    REPLICATES,
    Family,
    ScaleLaw,
    absolute_quantile,
    from_uniform,
    mean_absolute,
    mean_absolute_sum,
    points,
    sum_gradient,
    tail_area_slope,
    upper_tail_area,
)
from coterie.statistics.prediction.rank_law import Basis, RankLaw, Tabled
from coterie.statistics.specification.calculus import Linear, Tape, linear_form
from coterie.statistics.specification.equations import Expression, names_in
from coterie.statistics.specification.specification import ErrorSummary

# A clamp that acts less often than this cannot be seen in any figure we print.
_NEVER = 1e-7
_SEEN = 0.01  # a clamp that takes away more than this part of an error is seen


@dataclass(frozen=True, slots=True)
class Quantity:
    """One noisy number: its expected value (never the data's), and how its noise depends on its budget."""

    name: str
    value: float
    family: Family
    law: ScaleLaw | RankLaw
    unstated: tuple[str, ...] = ()  # what its value rests on without anybody having said it
    source: int | None = None  # which measurement it comes from; None: the one in its own place
    joint: JointMeasurement | None = None  # where many numbers are measured together: …
    row: int = 0  # … which of those that are asked of it

    @property
    def mixed(self) -> Floats:
        """The weight of the noise of each row of a joint measurement in this quantity's noise."""
        assert self.joint is not None
        return np.asarray(self.joint.mix[self.row])

    def draw(self, points: Floats, budget: float) -> tuple[Floats, Floats]:
        """(truth, released) at points of (0, 1), under the noise that is really drawn."""
        if isinstance(self.law, RankLaw):
            return self.law.draw(points, budget)
        truth = np.asarray(self.value)
        return truth, truth + from_uniform(self.family, points, float(self.law.scale(budget)))


@dataclass(frozen=True, slots=True)
class Target:
    """One number that analysts read, and how much its error counts."""

    name: str
    expression: Expression
    weight: float = 1.0
    unit: float = 1.0
    summary: ErrorSummary = ErrorSummary.MEAN
    tolerance: float | None = None
    is_equation: bool = False


@dataclass(frozen=True, slots=True)
class PredictedError:
    """Expected absolute error with its standard error, the median and the 95 % point.

    The standard error is how far the mean error of many releases of one table may be from `mean`. For quantiles
    most of it is `between_tables`: tables of the same shape differ around the quantile.
    """

    name: str
    mean: float
    standard_error: float
    median: float
    p95: float
    basis: Basis = Basis.CLOSED_FORM
    between_tables: float = 0.0

    @property
    def simulation_error(self) -> float:
        """The part of the standard error that more simulation would take away."""
        return math.sqrt(max(self.standard_error**2 - self.between_tables**2, 0.0))


@lru_cache(maxsize=64)
def unit_noise(families: tuple[Family, ...], exponent: int) -> tuple[Floats, ...]:
    """Noise of scale 1 at the Sobol points; any scale is a multiple of it."""
    uniform = points(len(families), exponent)
    return tuple(from_uniform(family, uniform[:, i], 1.0) for i, family in enumerate(families))


def unit_draws(quantities: Sequence[Quantity], exponent: int) -> list[Floats]:
    """Noise of scale 1 of each quantity: those measured together belong together, all others are independent."""
    shared = unit_noise(tuple(quantity.family.smooth for quantity in quantities), exponent)
    return [
        draws if quantity.joint is None else quantity.joint.draws(exponent)[:, quantity.row]
        for quantity, draws in zip(quantities, shared, strict=True)
    ]


@dataclass(frozen=True)
class NoiseTerms:
    """A linear target as a sum of independent noises: `weights[i]` times noise of this family at an input's scale."""

    families: tuple[Family, ...]
    weights: Floats
    inputs: tuple[int, ...]  # whose scale: a place among the target's inputs
    narrower: float  # E|S| of many Laplace noises against that of Gaussian noise of the same spread


@dataclass(frozen=True)
class TargetError:
    """How the error of one target comes about; `inputs` says which of all quantities it uses."""

    target: Target
    inputs: tuple[int, ...]
    quantities: tuple[Quantity, ...]

    @classmethod
    def of(cls, target: Target, place: Mapping[str, int], quantities: Sequence[Quantity]) -> TargetError:
        inputs = tuple(place[name] for name in names_in(target.expression))
        return cls(target, inputs, tuple(quantities[index] for index in inputs))

    @cached_property
    def tape(self) -> Tape:
        return Tape.of(self.target.expression)

    @cached_property
    def linear(self) -> Linear | None:
        return linear_form(self.target.expression)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(quantity.name for quantity in self.quantities)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        return tuple(quantity.family for quantity in self.quantities)

    @cached_property
    def joints(self) -> tuple[JointMeasurement, ...]:
        return tuple(dict.fromkeys(q.joint for q in self.quantities if q.joint is not None))

    @cached_property
    def terms(self) -> NoiseTerms:
        """Quantities that are measured together, put together: what they share partly cancels, or adds up."""
        assert self.linear is not None
        coefficients = self.linear.weights(self.names)
        families, weights, inputs, narrower = [], [], [], 1.0
        for place, quantity in enumerate(self.quantities):
            if quantity.joint is None:
                families.append(self._searched[place])
                weights.append(abs(float(coefficients[place])))
                inputs.append(place)
        for joint in self.joints:
            here = [place for place, quantity in enumerate(self.quantities) if quantity.joint is joint]
            mixed = sum(
                (coefficients[place] * self.quantities[place].mixed for place in here), np.zeros(joint.count)
            )
            squares = float((mixed**2).sum())
            one = squares > 0 and float(np.abs(mixed).max()) ** 2 > (1 - 1e-9) * squares
            if joint.gaussian or one:
                families.append(Family.GAUSSIAN if joint.gaussian else Family.LAPLACE)
                weights.append(math.sqrt(squares))
            else:
                # Variance 2b² each; the excess kurtosis 3Σw⁴/(Σw²)² narrows E|S| by a 24th of itself.
                families.append(Family.GAUSSIAN)
                weights.append(math.sqrt(2.0 * squares))
                if len(self.joints) == 1 == len(here) or len(here) == len(self.quantities):
                    narrower = 1.0 - float((mixed**4).sum()) / squares**2 / 8.0 if squares > 0 else 1.0
            inputs.append(here[0])
        return NoiseTerms(tuple(families), np.array(weights), tuple(inputs), narrower)

    @cached_property
    def tabled(self) -> Tabled | None:
        """The tables drawn for the quantiles among the inputs."""
        parts = [quantity.law.tabled for quantity in self.quantities if isinstance(quantity.law, RankLaw)]
        if not parts:
            return None
        most, fewest = max(part.most for part in parts), min(part.fewest for part in parts)
        return Tabled(most, fewest, all(part.declared for part in parts))

    @cached_property
    def centre(self) -> Floats:
        return np.array([quantity.value for quantity in self.quantities])

    @cached_property
    def truth(self) -> float:
        """What the target is worth at the expected values."""
        return float(self.tape.value(dict(zip(self.names, self.centre, strict=True))))

    # --- the search: continuous noise, one allocation or many -------------------------------------------

    def estimate_many(self, scales: Floats, exponent: int) -> Floats:
        used = scales[:, list(self.inputs)]
        probability = self.target.summary.probability
        if probability is None and self._closed(used):
            return self._closed_mean(self._searched[0], used)
        results = np.empty(len(used))
        chunk = max(1, 2**16 >> exponent)  # arrays that stay in the cache of one core
        for start in range(0, len(used), chunk):
            part = slice(start, start + chunk)
            results[part] = summarised(np.abs(self._draws(used[part], exponent)), probability)
        return results

    def closed_slope(self, scales: Floats) -> tuple[float, Floats] | None:
        """The error and its derivative by each input's scale, if it is a mean that has a closed form."""
        used = scales[list(self.inputs)]
        if self.target.summary is not ErrorSummary.MEAN or not self._closed(used[None, :]):
            return None
        error = float(self._closed_mean(self._searched[0], used[None, :])[0])
        return error, self._closed_slope(used)

    @property
    def _searched(self) -> tuple[Family, ...]:
        """The families of the closed forms: one discrete Laplace noise has its own, which is smooth in ε."""
        if self.families == (Family.DISCRETE_LAPLACE,) and not self.joints:
            return self.families
        return tuple(family.smooth for family in self.families)

    def _draws(self, used: Floats, exponent: int) -> Floats:
        """Deviations from the truth, allocations × points."""
        unit = unit_draws(self.quantities, exponent)
        noisy = {
            name: self.centre[index] + unit[index][None, :] * used[:, index, None]
            for index, name in enumerate(self.names)
        }
        return np.asarray(self.tape.value(noisy) - self.truth)

    # --- closed forms -----------------------------------------------------------------------------------

    @property
    def proportional(self) -> tuple[float, int] | None:
        """(factor, input) where the mean error is a factor times the scale of one input, whatever its budget."""
        if self.target.summary is not ErrorSummary.MEAN or self.linear is None:
            return None
        if self.families == (Family.RANK,):
            return float(self._coefficients[0]), self.inputs[0]
        if not self.joints or len(self.terms.families) != 1:
            return None
        (unit,) = mean_absolute_sum(self.terms.families, self.terms.weights[None, :])
        return self.terms.narrower * float(unit), self.inputs[self.terms.inputs[0]]

    @cached_property
    def _distances(self) -> Floats:
        """How far each input is from its nearest clamp."""
        assert self.linear is not None
        sides = zip(self.names, self.centre, strict=True)
        return np.array([min(self.linear.sides(name, float(value))) for name, value in sides])

    @cached_property
    def _coefficients(self) -> Floats:
        assert self.linear is not None
        return np.abs(self.linear.weights(self.names))

    def _closed(self, used: Floats) -> bool:
        """One clamped or unclamped noise, or a sum of noises whose clamps practically never act."""
        if self.linear is None:
            return False
        # What is reconstructed is not cut alone: the report replays it.
        if len(self.inputs) == 1 or self.joints:
            return True
        return bool((np.exp(-self._distances / used.max(axis=0)) < _NEVER).all())

    def _closed_mean(self, family: Family, used: Floats) -> Floats:
        assert self.linear is not None
        if self.families == (Family.RANK,):  # the scale is the mean error itself; the grid lies in the domain
            return np.asarray(self._coefficients[0] * used[:, 0])
        if len(self.inputs) == 1 and not self.joints:
            below, above = self.linear.sides(self.names[0], float(self.centre[0]))
            areas = [upper_tail_area(family, used[:, 0], np.asarray(room)) for room in (below, above)]
            return np.asarray(self._coefficients[0] * (areas[0] + areas[1]))
        terms = self.terms
        return terms.narrower * mean_absolute_sum(terms.families, used[:, list(terms.inputs)] * terms.weights)

    def _closed_slope(self, used: Floats) -> Floats:
        assert self.linear is not None
        if self.families == (Family.RANK,):
            return self._coefficients
        if len(self.inputs) == 1 and not self.joints:
            rooms = self.linear.sides(self.names[0], float(self.centre[0]))
            return self._coefficients * sum(
                tail_area_slope(self._searched[0], float(used[0]), room) for room in rooms
            )
        terms, slopes = self.terms, np.zeros(len(self.inputs))
        parts = sum_gradient(terms.families, used[list(terms.inputs)] * terms.weights) * terms.weights
        np.add.at(slopes, list(terms.inputs), terms.narrower * parts)
        return slopes

    # --- the report: the noise that is really drawn -----------------------------------------------------

    def report(self, budgets: Floats, exponent: int) -> PredictedError:
        """Mean with its standard error, median and 95 % point of the error."""
        used = budgets[list(self.inputs)]
        if self.linear is not None and len(self.inputs) == 1 and not self.joints:
            return self._report_of_one(self.linear, self.quantities[0], float(used[0]))
        drawn = self.from_draws(np.abs(self.simulate(used, exponent)))
        scales = np.array([float(q.law.scale(b)) for q, b in zip(self.quantities, used, strict=True)])
        if not self._closed(scales[None, :]) or not all(family.continuous for family in self.families):
            return drawn
        mean = float(self._closed_mean(self.families[0], scales[None, :])[0])
        return replace(drawn, mean=mean, standard_error=0.0, basis=Basis.CLOSED_FORM, between_tables=0.0)

    def _report_of_one(self, linear: Linear, quantity: Quantity, budget: float) -> PredictedError:
        name, factor = self.target.name, float(abs(linear.weights(self.names)[0]))
        if isinstance(quantity.law, RankLaw):
            law, tabled = quantity.law, quantity.law.tabled
            of_tables = factor * law.mean_errors(budget)
            error, between = tabled.spread(of_tables)
            median, p95 = (factor * law.within(budget, probability) for probability in (0.5, 0.95))
            return self._labelled(
                PredictedError(name, float(of_tables.mean()), error, median, p95, tabled.basis, between)
            )
        scale = float(quantity.law.scale(budget))
        mean = float(self._closed_mean(self.families[0], np.array([[scale]]))[0])
        near, far = sorted(linear.sides(self.names[0], quantity.value))
        median, p95 = (
            factor * _clamped_quantile(quantity.family, scale, probability, near, far)
            for probability in (0.5, 0.95)
        )
        found = PredictedError(name, mean, 0.0, median, p95)
        free = factor * float(mean_absolute(quantity.family, np.asarray(scale)))
        # Only where a clamp is seen does the value matter.
        return found if mean > (1 - _SEEN) * free else self._labelled(found)

    def from_draws(self, sizes: Floats) -> PredictedError:
        """Sizes of the error at all points: runs of equal length belong to one scrambled set, or to one table."""
        median, p95 = (float(q) for q in np.quantile(sizes, (0.5, 0.95)))
        runs = sizes.reshape(REPLICATES if self.tabled is None else self.tabled.most, -1).mean(axis=1)
        error, between, basis = float(runs.std(ddof=1) / math.sqrt(REPLICATES)), 0.0, Basis.SOBOL
        if self.tabled is not None:
            (error, between), basis = self.tabled.spread(runs), self.tabled.basis
        mean = float(runs.mean())
        return self._labelled(PredictedError(self.target.name, mean, error, median, p95, basis, between))

    def _labelled(self, found: PredictedError) -> PredictedError:
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


def summarised(sizes: Floats, probability: float | None) -> Floats:
    """The mean, or a quantile, of the errors in each row."""
    return np.asarray(sizes.mean(axis=1) if probability is None else np.quantile(sizes, probability, axis=1))
