"""Minimise a smooth function of the budgets over the allowed splits.

Each step replaces the function by Σ c_i·budget_i^(−1/p), with c_i chosen so that value and slope agree at
the current point, and solves that problem exactly: errors really do fall like that, so few steps are
needed (convex linearisation, Fleury 1989). A line search between the two points keeps every step a
descent; the region is convex, so everything between is allowed as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.planning.composition import Feasible

_DUAL_STEPS = 400
Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Optimum:
    budgets: Floats
    value: float
    steps: int


def minimise(
    objective: Objective,
    feasible: Feasible,
    powers: NDArray[np.float64],
    start: Floats | None = None,
    tolerance: float = 1e-8,
    steps: int = 200,
) -> Optimum:
    """The best split from a start (equal weights by default)."""
    budgets = feasible.fill(np.ones(feasible.count)) if start is None else feasible.stretch(start)
    value, slope = objective(budgets)
    step, quiet, reach = 0, 0, 1.0
    for step in range(1, steps + 1):  # noqa: B007 (how many it took is reported)
        weights = np.maximum(-slope * powers * budgets ** (1.0 + 1.0 / powers), 0.0)
        weights = np.maximum(weights, 1e-12 * max(float(weights.max()), 1e-300))
        proposal = separable_optimum(weights, feasible, powers)
        direction = proposal - budgets
        descent = float(slope @ direction)
        if descent >= -tolerance * abs(value) * 1e-2:
            break
        # Where errors level off (clamps), full steps overshoot: remember how far the last one could go.
        length, accepted = min(1.0, 2.0 * reach), False
        while length > 1e-6:
            candidate = budgets + length * direction
            new_value, new_slope = objective(candidate)
            if new_value <= value + 1e-4 * length * descent:
                accepted = True
                break
            length *= 0.5
        if not accepted:
            break
        gain, reach = value - new_value, length
        budgets, value, slope = candidate, new_value, new_slope
        quiet = quiet + 1 if gain < tolerance * abs(value) else 0
        if quiet >= 3:
            break
    return Optimum(budgets, value, step)


def separable_optimum(weights: Floats, feasible: Feasible, powers: Floats) -> Floats:
    """argmin Σ w_i·e_i^(−1/p_i) over the allowed splits, by its dual.

    The Lagrangian gives e_i = max(floor, (w_i/(p_i·μ_i))^(p_i/(p_i+1))), μ = rowsᵀλ, λ ≥ 0. One row is a
    bisection on λ; several are found by raising the price of overused rows (as in iterative scaling).
    """
    exponent = powers / (powers + 1.0)
    base = (weights / powers) ** exponent
    if len(feasible.rows) == 1:
        price = np.maximum(feasible.rows[0], 1e-300)
        shape = base * price**-exponent
        return _one_row(shape, exponent, feasible)

    price = np.full(len(feasible.rows), 1.0)
    budgets = feasible.floors
    for _ in range(_DUAL_STEPS):
        per_unit = np.maximum(feasible.rows.T @ price, 1e-300)
        budgets = np.maximum(feasible.floors, base * per_unit**-exponent)
        use = feasible.rows @ budgets / feasible.total
        # A row used too much gets dearer, an unused one cheaper; at the fixed point the rows with a price
        # are exactly used up. Budgets fall like price^(−exponent), hence the power.
        if use.max() <= 1.0 + 1e-9 and float(price @ (1.0 - use)) <= 1e-8 * float(price.sum()):
            break
        price = price * np.minimum(np.maximum(use, 1e-3), 1e3) ** (1.0 / float(exponent.max()))
        price = np.maximum(price, 1e-30 * float(price.max()))
    return _use_slack(budgets, feasible)


def _one_row(shape: Floats, exponent: Floats, feasible: Feasible) -> Floats:
    if bool((exponent == exponent[0]).all()):
        return feasible.fill(shape)
    low, high = -300.0, 300.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        budgets = np.maximum(feasible.floors, shape * np.exp(-middle * exponent))
        if feasible.used(budgets) > feasible.total:
            low = middle
        else:
            high = middle
    return np.maximum(feasible.floors, shape * np.exp(-high * exponent))


def _use_slack(budgets: Floats, feasible: Feasible) -> Floats:
    """Raise each budget as far as its own rows allow: unused budget buys nothing."""
    result = feasible.stretch(budgets)
    slack = feasible.total - feasible.rows @ result
    for index in np.argsort(result):
        column = feasible.rows[:, index]
        touched = column > 0
        room = float((slack[touched] / column[touched]).min()) if touched.any() else 0.0
        if room > 1e-12 * feasible.total:
            result[index] += room
            slack = slack - column * room
    return result
