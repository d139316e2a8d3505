"""Ways of splitting a budget; each new file is found by itself, nobody edits a list.

A file defines `ALLOCATORS`, a tuple of `Allocator`s; other packages offer theirs by the entry points `coterie.allocators`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from coterie.errors import ParameterError
from coterie.registry import Parts, discover, unknown
from coterie.schema.arrays import Floats
from coterie.statistics.planning.composition import Feasible, Optimum, minimise
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.prediction.target_error import Quantity, Target
from coterie.statistics.specification.calculus import Tape
from coterie.statistics.specification.equations import names_in

DEFAULT = "gradient"


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
        return np.array([source.law.coefficient for source in self.metric.sources])

    @property
    def powers(self) -> Floats:
        return np.array([float(source.law.power) for source in self.metric.sources])

    def descended(self, start: Floats, exponent: int, tolerance: float, steps: int) -> Optimum:
        """The best split along the gradient of the score."""
        return minimise(
            lambda budgets: self.metric.score_gradient(budgets, exponent=exponent),
            self.feasible,
            self.powers,
            start,
            tolerance,
            steps,
        )

    def slope_by_name(self, target: Target) -> dict[str, float]:
        """∂target/∂quantity at the expected values; 0 where it is not finite."""
        tape, names = Tape.of(target.expression), names_in(target.expression)
        values = {name: np.asarray(self._quantity[name].value) for name in names}
        found = tape.gradient(tape.run(values), np.asarray(1.0), names)
        return {name: float(slope) if np.isfinite(slope) else 0.0 for name, slope in found.items()}

    def slopes(self, target: Target) -> Floats:
        """How strongly the target depends on the noise of each thing measured, at the expected values."""
        slopes = np.zeros(len(self.metric.sources))
        mixed: dict[int, Floats] = {}
        for name, slope in self.slope_by_name(target).items():
            quantity, source = self._quantity[name], self._source[name]
            if quantity.joint is None:
                slopes[source] = abs(slope)
            else:
                mixed[source] = mixed.get(source, np.zeros(quantity.joint.count)) + slope * quantity.mixed
        for source, rows in mixed.items():
            slopes[source] = float(np.sqrt((rows**2).sum()))
        return slopes

    @cached_property
    def _quantity(self) -> dict[str, Quantity]:
        return {quantity.name: quantity for quantity in self.metric.quantities}

    @cached_property
    def _source(self) -> dict[str, int]:
        names = (quantity.name for quantity in self.metric.quantities)
        return dict(zip(names, self.metric.source_of.tolist(), strict=True))

    def acceptable(self) -> Feasible:
        """Floors raised to the acceptable budget of each statistic (Bai et al., in Nunes 2024, §3.1).

        A statistic with a tolerance is unusable when its noise scale is above it: Δ/ε ≤ tolerance. The
        budget this asks for depends on each statistic's own sensitivity, which is the point of normalising.
        For a statistic derived from others (a mean from a sum and a count) the tolerance is carried over to
        what is measured by the derivative at the expected values: |∂statistic/∂sum|·Δ/ε ≤ tolerance.
        If the acceptable budgets do not fit into the total, they are lowered together.
        """
        rows, total, floors = self.feasible.rows, self.feasible.total, self.feasible.floors
        wanted = floors
        for target in self.metric.targets:
            if target.tolerance is not None and not target.is_equation:
                needed = (self.coefficients * self.slopes(target) / target.tolerance) ** self.powers
                wanted = np.maximum(wanted, needed)
        need, spare = rows @ (wanted - floors), total - rows @ floors
        ratio = np.min(np.where(need > 0, spare / np.where(need > 0, need, 1.0), np.inf))
        return Feasible(rows, total, floors + (wanted - floors) * min(ratio, 1.0))


@dataclass(frozen=True, repr=False)
class Allocator:
    """One way to split a budget: `allocate` gives each measurement its share."""

    name: str
    title: str
    source: str
    allocate: Callable[[Problem], Floats]
    order: int = 50  # where it stands in tables

    def __repr__(self) -> str:
        return f"<Allocator {self.name}: {self.title}>"


@cache
def allocators() -> Parts[Allocator]:
    """List the ways of splitting a budget.

    Returns
    -------
    dict
        Every `Allocator` by name, the default first. Other packages may have added some.

    Examples
    --------
    >>> import coterie
    >>> list(coterie.statistics.allocators())[:2]
    ['gradient', 'robust']
    """
    return discover(
        __name__,
        __path__,
        "ALLOCATORS",
        Allocator,
        "coterie.allocators",
        lambda one: (one.name != DEFAULT, one.order, one.name),
    )


def find_allocator(name: str) -> Allocator:
    known = allocators()
    if isinstance(name, str) and name in known:
        return known[name]
    raise unknown("allocator", name, known)
