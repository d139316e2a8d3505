"""Closed form: minimise Σ c_i·scale_i, so ε_i ∝ √(c_i·s_i), or ρ_i ∝ (c_i·s_i)^(2/3) for Gaussian noise.

c_i is how strongly the targets depend on measurement i, to first order. Exact when every target is a single
measurement. One linear equation alone has its own closed form: its variance is least at
ε_i ∝ (c_i·s_i)^(2/3), or ρ_i ∝ c_i·s_i (Lagrange on Σ(c_i s_i/ε_i)²).
"""

from __future__ import annotations

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Allocator, Problem
from coterie.statistics.planning.composition import separable_optimum


def allocate(problem: Problem) -> Floats:
    parts = [target.weight / target.unit * problem.slopes(target) for target in problem.metric.targets]
    weights, powers = problem.coefficients * np.sum(parts, axis=0), problem.powers
    if sum(target.weight > 0 for target in problem.metric.targets) == 1 and len(problem.feasible.rows) == 1:
        # (c·s/ε^(1/p))² summed: the exponent of the separable problem is 2/p instead of 1/p.
        weights, powers = weights**2, powers / 2.0
    return separable_optimum(np.maximum(weights, 1e-300), problem.feasible, powers)


ALLOCATORS = (
    Allocator(
        "square-root", "closed form, first order", "Lagrange; exact for statistics alone", allocate, 30
    ),
)
