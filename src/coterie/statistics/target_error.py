"""The error of one target under given noise scales: closed form where there is one, Sobol points otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.expression import Expression, names_in
from coterie.statistics.linear import Linear, linear_form
from coterie.statistics.noise_model import (
    Family,
    absolute_quantile,
    from_uniform,
    tail_area_slope,
    upper_tail_area,
)
from coterie.statistics.noise_sums import mean_absolute_sum, sum_gradient
from coterie.statistics.sobol import REPLICATES, points
from coterie.statistics.tape import Tape

if TYPE_CHECKING:
    from coterie.statistics.metric import Quantity, Summary

Array = NDArray[np.float64]
PROBABILITY = {"median": 0.5, "p95": 0.95}
# A clamp that acts less often than this cannot be seen in any figure we print.
_NEVER = 1e-7


@lru_cache(maxsize=64)
def unit_noise(families: tuple[Family, ...], exponent: int) -> tuple[Array, ...]:
    """Noise of scale 1 at the Sobol points; any scale is a multiple of it."""
    uniform = points(len(families), exponent)
    return tuple(from_uniform(family, uniform[:, i], 1.0) for i, family in enumerate(families))


@dataclass(frozen=True)
class TargetError:
    tape: Tape
    names: tuple[str, ...]
    inputs: tuple[int, ...]
    families: tuple[Family, ...]
    linear: Linear | None

    @classmethod
    def of(
        cls, expression: Expression, place: Mapping[str, int], quantities: Sequence[Quantity]
    ) -> TargetError:
        names = names_in(expression)
        inputs = tuple(place[name] for name in names)
        families = tuple(quantities[index].family for index in inputs)
        return cls(Tape.of(expression), names, inputs, families, linear_form(expression))

    @property
    def approximate(self) -> bool:
        """Laplace noise on the rank stands for the exponential mechanism: as good as the expected density."""
        return Family.RANK_LAPLACE in self.families

    def truth(self, values: Array) -> float:
        centre = {name: values[index] for name, index in zip(self.names, self.inputs, strict=True)}
        return float(self.tape.value(centre))

    # --- the search: continuous noise, one allocation or many -------------------------------------------

    def estimate_many(self, scales: Array, values: Array, summary: Summary, exponent: int) -> Array:
        used = scales[:, list(self.inputs)]
        if summary.value == "mean" and self._closed(used, values):
            return self._closed_mean(self._searched, used, values)
        results = np.empty(len(used))
        chunk = max(1, 2**16 >> exponent)  # arrays that stay in the cache of one core
        for start in range(0, len(used), chunk):
            part = slice(start, start + chunk)
            deviations = np.abs(self._draws(used[part], values, exponent))
            if summary.value == "mean":
                results[part] = deviations.mean(axis=1)
            else:
                results[part] = np.quantile(deviations, PROBABILITY[summary.value], axis=1)
        return results

    def closed_slope(self, scales: Array, values: Array) -> tuple[float, Array] | None:
        """The mean error and its derivative by each input's scale, if there is a closed form."""
        used = scales[list(self.inputs)]
        if not self._closed(used[None, :], values):
            return None
        error = float(self._closed_mean(self._searched, used[None, :], values)[0])
        return error, self._closed_slope(self._searched, used, values)

    @property
    def _searched(self) -> tuple[Family, ...]:
        """The families of the closed forms: one discrete Laplace noise has its own, which is smooth in ε."""
        if self.families == (Family.DISCRETE_LAPLACE,):
            return self.families
        return tuple(family.smooth for family in self.families)

    def _draws(self, used: Array, values: Array, exponent: int) -> Array:
        """Deviations from the truth, allocations × points."""
        unit = unit_noise(tuple(family.smooth for family in self.families), exponent)
        noisy = {
            name: values[place] + unit[index][None, :] * used[:, index, None]
            for index, (name, place) in enumerate(zip(self.names, self.inputs, strict=True))
        }
        return np.asarray(self.tape.value(noisy) - self.truth(values))

    # --- closed forms -----------------------------------------------------------------------------------

    def _closed(self, used: Array, values: Array) -> bool:
        """One clamped or unclamped noise, or a sum of noises whose clamps practically never act."""
        if self.linear is None:
            return False
        if len(self.inputs) == 1:
            return True
        distance = self.linear.room(self.names, values[list(self.inputs)])
        return bool((np.exp(-distance / used.max(axis=0)) < _NEVER).all())

    def _closed_mean(self, families: Sequence[Family], used: Array, values: Array) -> Array:
        assert self.linear is not None
        coefficients = np.abs(self.linear.weights(self.names))
        if len(self.inputs) == 1:
            below, above = self.linear.sides(self.names[0], float(values[self.inputs[0]]))
            areas = [upper_tail_area(families[0], used[:, 0], np.asarray(room)) for room in (below, above)]
            return np.asarray(coefficients[0] * (areas[0] + areas[1]))
        return mean_absolute_sum(families, used * coefficients)

    def _closed_slope(self, families: Sequence[Family], used: Array, values: Array) -> Array:
        assert self.linear is not None
        coefficients = np.abs(self.linear.weights(self.names))
        if len(self.inputs) == 1:
            rooms = self.linear.sides(self.names[0], float(values[self.inputs[0]]))
            return coefficients * sum(tail_area_slope(families[0], float(used[0]), room) for room in rooms)
        return sum_gradient(families, used * coefficients) * coefficients

    # --- the report: the noise that is really drawn -----------------------------------------------------

    def report(self, scales: Array, values: Array, exponent: int) -> tuple[float, float, float, float, bool]:
        """mean, its standard error, median, 95 % point, and whether the mean is a closed form."""
        used = scales[list(self.inputs)]
        closed = self._closed(used[None, :], values) and (
            len(self.inputs) == 1 or not any(family.discrete for family in self.families)
        )
        if closed and len(self.inputs) == 1:
            assert self.linear is not None
            mean = float(self._closed_mean(self.families, used[None, :], values)[0])
            factor = float(abs(self.linear.weights(self.names)[0]))
            sides = sorted(self.linear.sides(self.names[0], float(values[self.inputs[0]])))
            quantiles = [
                factor * _clamped_quantile(self.families[0], float(used[0]), probability, *sides)
                for probability in (0.5, 0.95)
            ]
            return mean, 0.0, quantiles[0], quantiles[1], True
        size = np.abs(self.simulate(used, values, exponent))
        replicates = size.reshape(REPLICATES, -1).mean(axis=1)
        median, p95 = np.quantile(size, (0.5, 0.95))
        if closed:
            mean = float(self._closed_mean(self.families, used[None, :], values)[0])
            return mean, 0.0, float(median), float(p95), True
        error = float(replicates.std(ddof=1) / np.sqrt(REPLICATES))
        return float(replicates.mean()), error, float(median), float(p95), False

    def simulate(self, used: Array, values: Array, exponent: int) -> Array:
        """Deviations from the truth under the noise that is really drawn, over all scrambled sets."""
        uniform = points(len(self.inputs), exponent, REPLICATES)
        noisy = {
            name: values[place] + from_uniform(family, uniform[:, index], used[index])
            for index, (name, place, family) in enumerate(
                zip(self.names, self.inputs, self.families, strict=True)
            )
        }
        return np.asarray(self.tape.value(noisy) - self.truth(values))


def _clamped_quantile(family: Family, scale: float, probability: float, near: float, far: float) -> float:
    """The quantile of |clamp(v + noise) − v| when the clamps are `near` and `far` away."""
    free = absolute_quantile(family, scale, probability)
    if free <= near:
        return free
    # Beyond the nearer clamp only one tail is left: half the probability.
    one_sided = absolute_quantile(family, scale, 2 * probability - 1) if probability > 0.5 else 0.0
    return min(max(one_sided, near), far)
