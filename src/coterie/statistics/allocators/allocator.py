"""What an allocator is: a name, a sentence, and a function from a problem to budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats
from coterie.statistics.planning.composition import Feasible
from coterie.statistics.prediction.autodiff import Tape
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.specification.equations import Expression


class NotApplicable(ParameterError):
    """This allocator cannot split this problem; the others can."""


@dataclass(frozen=True)
class Problem:
    """What is to be made small, which splits are allowed, and what else the values might be."""

    metric: Metric
    feasible: Feasible
    scenarios: tuple[Metric, ...] = ()

    @property
    def coefficients(self) -> Floats:
        """Noise scale at budget 1: the sensitivities, up to a constant of the noise."""
        return np.array([quantity.law.coefficient for quantity in self.metric.quantities])

    @property
    def powers(self) -> Floats:
        return np.array([float(quantity.law.power) for quantity in self.metric.quantities])

    def acceptable(self) -> Feasible:
        """Floors raised to the acceptable budget of each statistic (Bai et al., in Nunes 2024, §3.1).

        A statistic with a tolerance is unusable when its noise scale is above it: Δ/ε ≤ tolerance. The
        budget this asks for depends on each statistic's own sensitivity, which is the point of normalising.
        For a statistic derived from others (a mean from a sum and a count) the tolerance is carried over to
        what is measured by the derivative at the expected values: |∂statistic/∂sum|·Δ/ε ≤ tolerance.
        If the acceptable budgets do not fit into the total, they are lowered together.
        """
        wanted = self.feasible.floors.copy()
        place = {quantity.name: i for i, quantity in enumerate(self.metric.quantities)}
        for target in self.metric.targets:
            if target.tolerance is None or target.is_equation:
                continue
            for name, slope in self._slopes(target.expression).items():
                if not np.isfinite(slope):
                    continue
                law = self.metric.quantities[place[name]].law
                needed = (law.coefficient * abs(slope) / target.tolerance) ** law.power
                wanted[place[name]] = max(wanted[place[name]], needed)
        extra = wanted - self.feasible.floors
        need, spare = (
            self.feasible.rows @ extra,
            self.feasible.total - self.feasible.rows @ self.feasible.floors,
        )
        ratio = np.min(np.where(need > 0, spare / np.where(need > 0, need, 1.0), np.inf))
        if ratio < 1:
            wanted = self.feasible.floors + extra * ratio
        return Feasible(self.feasible.rows, self.feasible.total, wanted)

    def _slopes(self, expression: Expression) -> dict[str, float]:
        tape = Tape.of(expression)
        values = {quantity.name: np.asarray(quantity.value) for quantity in self.metric.quantities}
        slopes = tape.gradient(tape.run(values), np.asarray(1.0))
        return {name: float(slope) for name, slope in slopes.items()}


@dataclass(frozen=True)
class Allocator:
    name: str
    title: str
    source: str
    allocate: Callable[[Problem], Floats]
    order: int = 50  # where it stands in tables
