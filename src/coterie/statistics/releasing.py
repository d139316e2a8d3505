"""make_release(): exact measurements, noise, consistency, statistics, equations, intervals. In this order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.allocators import uniform
from coterie.statistics.allocators.allocator import Problem
from coterie.statistics.composition import exact_budgets
from coterie.statistics.computing import compute
from coterie.statistics.consistency import constraints_of, reconcile
from coterie.statistics.derivation import domain_of
from coterie.statistics.design import Design
from coterie.statistics.drawing import Noise, release_scale
from coterie.statistics.expression import names_in
from coterie.statistics.plan import Plan
from coterie.statistics.planning import design_for, plan
from coterie.statistics.sensitivity import Kind
from coterie.statistics.sources import Source
from coterie.statistics.specification import Notion, Specification
from coterie.statistics.tape import Tape
from coterie.statistics.uncertainty import intervals

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ReleasedValue:
    name: str
    is_equation: bool
    value: float
    lower: float
    upper: float
    expected_error: float


@dataclass(frozen=True)
class StatisticsRelease:
    plan: Plan
    values: tuple[ReleasedValue, ...]
    scales: Mapping[str, float]
    sampler: str
    private: bool
    pilot: Mapping[str, float] | None = None

    def __getitem__(self, name: str) -> ReleasedValue:
        return next(value for value in self.values if value.name == name)


def make_release(
    chosen: Plan, source: Source, noise: Noise, pilot: Mapping[str, float] | None = None
) -> StatisticsRelease:
    """Draw once. Whoever calls this has to charge for it."""
    design = chosen.design
    exact = compute(design, source)
    scales = _release_scales(design, chosen.budgets)
    noisy = _noisy(design, exact, scales, noise)
    value_scales = np.array([chosen.scales[m.name] for m in design.measurements])
    consistent = reconcile(noisy[None, :], value_scales, constraints_of(design))[0]
    statistics, equations = evaluate(design, consistent)
    bounds = intervals(design, np.array([float(budget) for budget in chosen.budgets]), consistent)
    errors = {error.name: error.mean for error in chosen.errors}
    values = []
    for name, value, is_equation in [
        *((name, value, False) for name, value in statistics.items()),
        *((name, value, True) for name, value in equations.items()),
    ]:
        interval = bounds.get(name)
        lower, upper = (interval.lower, interval.upper) if interval else (value, value)
        if not is_equation:
            domain = domain_of(design.specification, design.specification[name])
            lower, upper = max(lower, domain.lower), min(upper, domain.upper)
            lower, upper = min(lower, value), max(upper, value)
        values.append(ReleasedValue(name, is_equation, value, lower, upper, errors.get(name, 0.0)))
    return StatisticsRelease(chosen, tuple(values), scales, noise.name, noise.sampler.private, pilot)


def plan_with_pilot(
    specification: Specification, source: Source, noise: Noise, allocator: str
) -> tuple[Plan, dict[str, float]]:
    """Pay a share of the budget, split evenly, for rough values; plan the rest on those.

    The second part is chosen after looking at the first: adaptive composition, and the shares add up.
    """
    rough = replace(specification, equations=(), totals=())
    design, _ = design_for(rough, share=specification.pilot)
    budgets = exact_budgets(
        uniform.allocate(Problem(design.metric, design.feasible)), design.feasible, design.total
    )
    noisy = _noisy(design, compute(design, source), _release_scales(design, budgets), noise, "pilot ")
    values, _ = evaluate(design, noisy)
    return plan(specification, allocator, expected=values, report_losses=False), values


def evaluate(design: Design, measured: Array) -> tuple[dict[str, float], dict[str, float]]:
    """Statistics from measurements, equations from statistics."""
    noisy = {m.name: np.asarray(measured[i]) for i, m in enumerate(design.measurements)}
    statistics = {name: float(Tape.of(form).value(noisy)) for name, form in design.statistics.items()}
    inputs = {name: np.asarray(value) for name, value in statistics.items()}
    equations = {
        name: float(Tape.of(form).value({key: inputs[key] for key in names_in(form)}))
        for name, form in design.equations.items()
    }
    return statistics, equations


def _release_scales(design: Design, budgets: Any) -> dict[str, float]:
    specification = design.specification
    zcdp = specification.budget.notion is not Notion.PURE
    return {
        m.name: release_scale(
            quantity.family, m.bound.nominal(specification.neighbours, m.where.everyone), budget, zcdp
        )
        for m, quantity, budget in zip(design.measurements, design.metric.quantities, budgets, strict=True)
    }


def _noisy(
    design: Design, exact: Mapping[str, Any], scales: Mapping[str, float], noise: Noise, part: str = ""
) -> Array:
    values = []
    for m, quantity in zip(design.measurements, design.metric.quantities, strict=True):
        stream = f"statistics {part}{design.specification.digest} {m.name}"
        if m.kind is Kind.QUANTILE:
            values.append(noise.choose(exact[m.name], m, scales[m.name], stream))
        else:
            centre = np.array([exact[m.name]])
            values.append(float(noise.add(centre, quantity.family, scales[m.name], stream)[0]))
    return np.array(values)
