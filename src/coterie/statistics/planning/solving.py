"""The smallest budget that meets every tolerance: `--solve epsilon`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from coterie.errors import ParameterError
from coterie.promise.loss import epsilon_of
from coterie.schema.arrays import Floats
from coterie.schema.exact import number
from coterie.statistics.allocators import Problem
from coterie.statistics.planning.composition import exact_budgets
from coterie.statistics.planning.design import Design
from coterie.statistics.planning.plan import Plan
from coterie.statistics.planning.planner import design_for, planned, smallest_excess
from coterie.statistics.prediction.target_error import PredictedError
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.specification import Notion, PrivacyBudget, Specification

MARGIN = 3.0  # standard errors by which a tolerance must be kept
_PRECISION = 1e-3
_MOST = 1e9
_RAISES = 40
MOST_DESIGNS = 4


def solve_budget(specification: Specification) -> Plan:
    """A plan whose budget is the smallest, to about 0.1 %, at which all tolerances hold under the best split.

    The search runs on few points; what it finds is then checked at the precision that is printed, with a
    margin for the standard error, and raised until it holds there.

    Parameters
    ----------
    specification : Specification
        At least one statistic or equation has a `tolerance`. Its own budget plays no part.

    Returns
    -------
    Plan

    Raises
    ------
    ParameterError
        Where no tolerance is stated.

    Examples
    --------
    >>> import coterie
    >>> specification = {
    ...     "neighbours": "add-remove",
    ...     "budget": {"epsilon": 1},
    ...     "statistics": {"n": {"kind": "count", "expected": 5000, "tolerance": 0.5}},
    ... }
    >>> asked = coterie.statistics.read_specification(specification, coterie.demo_schema())
    >>> coterie.statistics.solve_budget(asked).errors[0].mean <= 0.5
    True
    """
    stated = [s.tolerance for s in specification.statistics] + [e.tolerance for e in specification.equations]
    if all(tolerance is None for tolerance in stated):
        raise ParameterError("No tolerance is stated.", "Give statistics or equations a `tolerance`.")
    if specification.fairness is not None:
        raise ParameterError(
            "Solving for the budget keeps tolerances; `fairness` is for a budget that is given.",
            "Leave out `fairness`, or do not solve.",
        )
    free = replace(specification, floor=Fraction(0))
    total, tried = 1.0, set()
    best: tuple[tuple[float, Floats], Design, Expectations] | None = None
    for _ in range(MOST_DESIGNS):
        # Direct noise or sums is decided at a budget, and the budget that was found may decide otherwise.
        start = replace(free, budget=_budget(free, total))
        design, expectations = design_for(start, share=1 - specification.pilot)
        routes = frozenset(design.routes.items())
        if routes in tried:
            break
        tried.add(routes)
        found = _search(specification, design)
        if best is None or found[0] < best[0][0]:
            best = found, design, expectations
        total = found[0]
    assert best is not None
    (total, budgets), design, expectations = best
    return _confirmed(specification, design, total, budgets, expectations.given)


def _search(specification: Specification, design: Design) -> tuple[float, Floats]:
    """The smallest total whose best split keeps the tolerances and the floors, on few points."""
    low, high = _room_for_floors(specification, design), math.inf
    total = low or 1.0
    found: tuple[float, Floats] | None = None
    budgets: Floats | None = None
    for _ in range(60):
        scaled = _with_total(specification, design, total)
        budgets = _smallest_excess(scaled, budgets)
        excess = _excess(scaled, scaled.metric.predict(budgets, exponent=8))
        if excess <= 1.0:
            high, found = total, (total, budgets)
        else:
            low = total
        if math.isfinite(high) and high - low <= _PRECISION * high:
            break
        # Errors fall about like 1/ε (1/√ρ): step there first, then close in by bisection.
        jump = total * excess ** _power(specification)
        inside = low < jump < high
        total = (
            jump * (1 + _PRECISION / 4)
            if inside and abs(jump / total - 1) > _PRECISION
            else _middle(low, high)
        )
        if low >= _MOST:
            break
        total = min(total, _MOST)
    if found is None:
        assert budgets is not None
        raise _hopeless(scaled, budgets)
    return found


def _confirmed(
    specification: Specification, design: Design, total: float, budgets: Floats, expected: Mapping[str, float]
) -> Plan:
    """The plan at the first budget, from the one found upwards, that keeps its promises at full precision."""
    for _ in range(_RAISES):
        solved = replace(specification, budget=_budget(specification, total))
        exact_total = solved.budget.total * (1 - specification.pilot)
        final = replace(_with_total(specification, design, total, exact_total), specification=solved)
        exact = exact_budgets(budgets, final.feasible, final.total)
        plan = planned(final, "tolerances", exact, dict(expected))
        excess = _excess(plan.design, plan.errors, margin=MARGIN)
        if excess <= 1.0:
            return plan
        total *= max(excess ** _power(specification), 1 + _PRECISION)
        if total > _MOST:
            break
        budgets = _smallest_excess(_with_total(specification, design, total), budgets)
    raise _hopeless(final, budgets)


def _hopeless(design: Design, budgets: Floats) -> ParameterError:
    errors = design.metric.target_errors(budgets, exponent=8)
    tolerances = np.array([t.tolerance or math.inf for t in design.metric.targets])
    worst = int((errors / tolerances).argmax())
    return ParameterError(
        f"No reasonable budget meets the tolerance of '{design.metric.targets[worst].name}' "
        f"({number(tolerances[worst], 12)}): with a budget of {number(design.feasible.total)} its error is "
        f"about {number(errors[worst])}.",
        "Loosen that tolerance, or publish a statistic that is less sensitive to noise.",
    )


def _room_for_floors(specification: Specification, design: Design) -> float:
    """The total below which the stated floors do not fit (a hair more, so that the search can move)."""
    floors = np.full(design.feasible.count, float(specification.floor))
    return float((design.feasible.rows @ floors).max()) * (1 + 1e-6)


def _power(specification: Specification) -> float:
    return 2.0 if specification.budget.zcdp else 1.0


def _middle(low: float, high: float) -> float:
    return 2.0 * low if not math.isfinite(high) else (0.5 * high if low == 0 else math.sqrt(low * high))


def _budget(specification: Specification, total: float) -> PrivacyBudget:
    # Rounded up: the split that was found must fit into the budget that is printed.
    value = Fraction(Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(total)))
    if specification.budget.notion is Notion.PURE:
        return PrivacyBudget(epsilon=value)
    if specification.budget.notion is Notion.ZCDP:
        return PrivacyBudget(rho=value)
    epsilon = math.ceil(epsilon_of(total, float(specification.budget.noise_delta)) * 1e6) / 1e6
    return replace(specification.budget, epsilon=Fraction(str(epsilon)))


def _with_total(
    specification: Specification, design: Design, total: float, exact: Fraction | None = None
) -> Design:
    """The design at another budget: `total` for the release, of which a pilot takes its share."""
    share = 1 - specification.pilot
    part = total * float(share) if exact is None else float(exact)
    # The design was built without the stated floor: its own small floors keep statistics without a
    # tolerance alive, and grow with the total.
    floors = design.feasible.floors * (part / design.feasible.total)
    floors = np.maximum(floors, float(specification.floor * share))
    feasible = replace(design.feasible, total=part, floors=floors)
    return replace(design, feasible=feasible, total=Fraction(f"{part:.9g}") if exact is None else exact)


def _smallest_excess(design: Design, start: Floats | None) -> Floats:
    tolerances = np.array([t.tolerance or math.inf for t in design.metric.targets])
    return smallest_excess(Problem(design.metric, design.feasible), tolerances, start)


def _excess(design: Design, errors: tuple[PredictedError, ...], margin: float = 0.0) -> float:
    ratios = [
        getattr(error, target.summary.value) * (1 + margin * _relative_error(error)) / target.tolerance
        for error, target in zip(errors, design.metric.targets, strict=True)
        if target.tolerance is not None
    ]
    return float(max(ratios))


def _relative_error(error: PredictedError) -> float:
    """The simulation's error as a part of the mean; it stands for that of the quantiles too."""
    return error.simulation_error / error.mean if error.mean > 0 else 0.0
