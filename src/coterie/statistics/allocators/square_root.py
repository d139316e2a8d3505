"""Closed form: minimise Σ c_i·scale_i, so ε_i ∝ √(c_i·s_i), or ρ_i ∝ (c_i·s_i)^(2/3) for Gaussian noise.

c_i is how strongly the targets depend on measurement i, to first order. Exact when every target is a single
measurement. One linear equation alone has its own closed form: its variance is least at
ε_i ∝ (c_i·s_i)^(2/3), or ρ_i ∝ c_i·s_i (Lagrange on Σ(c_i s_i/ε_i)²).
"""

from __future__ import annotations

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators.allocator import Allocator, Problem
from coterie.statistics.planning.optimise import separable_optimum
from coterie.statistics.prediction.autodiff import Tape


def allocate(problem: Problem) -> Floats:
    dependence = first_order(problem)
    active = [t for t in problem.metric.targets if t.weight > 0]
    coefficients = problem.coefficients
    if len(active) == 1 and len(problem.feasible.rows) == 1:
        # (c·s/ε^(1/p))² summed: the exponent of the separable problem is 2/p instead of 1/p.
        return separable_optimum(
            np.maximum((dependence * coefficients) ** 2, 1e-300), problem.feasible, problem.powers / 2.0
        )
    return separable_optimum(np.maximum(dependence * coefficients, 1e-300), problem.feasible, problem.powers)


def first_order(problem: Problem) -> Floats:
    """Σ over targets of weight·|∂target/∂measurement| at the expected values."""
    place = {quantity.name: i for i, quantity in enumerate(problem.metric.quantities)}
    values = {quantity.name: np.asarray(quantity.value) for quantity in problem.metric.quantities}
    total = np.zeros(len(place))
    for target in problem.metric.targets:
        tape = Tape.of(target.expression)
        slopes = tape.gradient(tape.run(values), np.asarray(1.0))
        for name, slope in slopes.items():
            if np.isfinite(slope):
                total[place[name]] += target.weight / target.unit * abs(float(slope))
    return total


ALLOCATORS = (
    Allocator(
        "square-root", "closed form, first order", "Lagrange; exact for statistics alone", allocate, 30
    ),
)
