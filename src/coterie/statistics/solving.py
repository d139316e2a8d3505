"""The smallest budget that meets every tolerance: `--solve epsilon`."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.statistics.accounting import epsilon_of
from coterie.statistics.allocators import square_root
from coterie.statistics.allocators.allocator import Problem
from coterie.statistics.composition import exact_budgets
from coterie.statistics.design import Design
from coterie.statistics.metric import PredictedError
from coterie.statistics.optimise import minimise
from coterie.statistics.plan import Plan
from coterie.statistics.planning import design_for
from coterie.statistics.specification import Budget, Notion, Specification

Array = NDArray[np.float64]
SHARPNESS = 32.0
_PRECISION = 1e-3


def solve_budget(specification: Specification) -> Plan:
    """A plan whose budget is the smallest, to 0.1 %, at which all tolerances hold under the best split."""
    stated = [s.tolerance for s in specification.statistics] + [e.tolerance for e in specification.equations]
    if all(tolerance is None for tolerance in stated):
        raise ParameterError("No tolerance is stated.", "Give statistics or equations a `tolerance`.")
    free = replace(specification, floor=Fraction(0))
    start = replace(free, budget=_budget(free, 1.0))
    design, expectations = design_for(start, share=1 - specification.pilot)
    low, high = 0.0, math.inf
    total = 1.0
    found: tuple[float, Array] | None = None
    budgets: Array | None = None
    for _ in range(60):
        scaled = _with_total(design, total)
        budgets = _smallest_excess(scaled, budgets)
        excess = _excess(scaled, scaled.metric.predict(budgets, exponent=8))
        if excess <= 1.0:
            high, found = total, (total, budgets)
        else:
            low = total
        if math.isfinite(high) and high - low <= _PRECISION * high:
            break
        # Errors fall about like 1/ε (1/√ρ): step there first, then close in by bisection.
        jump = total * excess ** (1.0 if _pure(specification) else 2.0)
        inside = low < jump < high
        total = (
            jump * (1 + _PRECISION / 4)
            if inside and abs(jump / total - 1) > _PRECISION
            else _middle(low, high)
        )
        if total > 1e9:
            break
    if found is None:
        raise ParameterError(
            "The tolerances cannot be met by any reasonable budget.",
            "Loosen them, or publish fewer statistics.",
        )
    return _as_plan(specification, design, found, expectations_of=dict(expectations.given))


def _middle(low: float, high: float) -> float:
    return 2.0 * low if not math.isfinite(high) else (0.5 * high if low == 0 else math.sqrt(low * high))


def _pure(specification: Specification) -> bool:
    return specification.budget.notion is Notion.PURE


def _budget(specification: Specification, total: float) -> Budget:
    value = Fraction(f"{total:.6g}")
    if _pure(specification):
        return Budget(epsilon=value)
    if specification.budget.notion is Notion.ZCDP:
        return Budget(rho=value)
    delta = specification.budget.delta
    assert delta is not None
    epsilon = math.ceil(epsilon_of(total, float(delta)) * 1e6) / 1e6
    return Budget(epsilon=Fraction(str(epsilon)), delta=delta)


def _with_total(design: Design, total: float) -> Design:
    # The design was built for a total of 1: its small floors keep statistics without a tolerance alive.
    share = total / design.feasible.total
    feasible = replace(design.feasible, total=total, floors=design.feasible.floors * share)
    return replace(design, feasible=feasible, total=Fraction(f"{total:.9g}"))


def _smallest_excess(design: Design, start: Array | None) -> Array:
    """The split that makes the largest error/tolerance smallest (a p-norm stands for the maximum)."""
    tolerances = np.array([t.tolerance or math.inf for t in design.metric.targets])

    def objective(budgets: Array) -> tuple[float, Array]:
        errors, slopes = design.metric.gradient(budgets, exponent=9)
        ratios = errors / tolerances
        largest = float(ratios.max())
        weights = (ratios / largest) ** SHARPNESS
        value = largest * float(weights.sum()) ** (1.0 / SHARPNESS)
        pull = weights / np.maximum(ratios, 1e-300) / tolerances / weights.sum() * value
        return value, np.asarray(np.where(np.isfinite(tolerances), pull, 0.0) @ slopes)

    problem = Problem(design.metric, design.feasible)
    begin = square_root.allocate(problem) if start is None else start
    return minimise(objective, design.feasible, problem.powers, begin, tolerance=1e-6, steps=120).budgets


def _excess(design: Design, errors: tuple[PredictedError, ...]) -> float:
    ratios = [
        getattr(error, target.summary.value) / target.tolerance
        for error, target in zip(errors, design.metric.targets, strict=True)
        if target.tolerance is not None
    ]
    return float(max(ratios))


def _as_plan(
    specification: Specification,
    design: Design,
    found: tuple[float, Array],
    expectations_of: dict[str, float],
) -> Plan:
    total, budgets = found
    final = _with_total(design, total)
    solved = replace(specification, budget=_budget(specification, total))
    exact = exact_budgets(budgets, final.feasible, final.total)
    errors = final.metric.predict(np.array([float(budget) for budget in exact]))
    score, standard_error = final.metric.score_of(errors)
    return Plan(
        replace(final, specification=solved),
        "tolerances",
        exact,
        score,
        standard_error,
        errors,
        warnings=final.warnings,
        expected=expectations_of,
    )
