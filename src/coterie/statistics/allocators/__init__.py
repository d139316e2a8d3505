"""Ways of splitting a budget; each new file is found by itself, nobody edits a list.

A file defines `ALLOCATORS`, a tuple of `Allocator`s; other packages offer theirs by the entry points `coterie.allocators`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from coterie.errors import ParameterError
from coterie.registry import Parts, discover, look_up
from coterie.schema.arrays import Floats
from coterie.statistics.planning.composition import Feasible
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.prediction.target_error import Target
from coterie.statistics.specification.calculus import Tape

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
        return np.array([quantity.law.coefficient for quantity in self.metric.quantities])

    @property
    def powers(self) -> Floats:
        return np.array([float(quantity.law.power) for quantity in self.metric.quantities])

    def slopes(self, target: Target) -> Floats:
        """|∂target/∂measurement| at the expected values; 0 where it is not finite."""
        tape = Tape.of(target.expression)
        values = {quantity.name: np.asarray(quantity.value) for quantity in self.metric.quantities}
        found = tape.gradient(tape.run(values), np.asarray(1.0))
        slopes = np.array([abs(float(found.get(name, 0.0))) for name in values])
        return np.where(np.isfinite(slopes), slopes, 0.0)

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
    return look_up("allocator", name, allocators())
