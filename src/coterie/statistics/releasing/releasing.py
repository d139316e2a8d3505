"""make_release(): exact measurements, noise, consistency, statistics, equations, intervals. In this order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Problem
from coterie.statistics.allocators.fixed_shares import uniform
from coterie.statistics.planning.composition import as_floats, exact_budgets
from coterie.statistics.planning.design import Design
from coterie.statistics.planning.plan import Plan
from coterie.statistics.planning.planner import design_for, split_by_rule
from coterie.statistics.prediction.measurement import Kind
from coterie.statistics.releasing.consistency import Replay, constraints_of, reconcile
from coterie.statistics.releasing.measuring import Noise, compute, release_scale
from coterie.statistics.releasing.records import RecordSource
from coterie.statistics.specification.calculus import Tape
from coterie.statistics.specification.equations import Expression, names_in
from coterie.statistics.specification.specification import Notion, Specification


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
    chosen: Plan, records: RecordSource, noise: Noise, pilot: Mapping[str, float] | None = None
) -> StatisticsRelease:
    """Draw once. Whoever calls this has to charge for it."""
    design = chosen.design
    noisy = _noisy(design, compute(design, records), chosen.budgets, noise)
    statistics, equations = evaluate(design, _consistent(chosen, noisy))
    bounds = Replay.of(design, as_floats(chosen.budgets)).intervals(noisy[0])
    errors = {error.name: error.mean for error in chosen.errors}
    values = []
    for name, value, is_equation in [
        *((name, float(value[0]), False) for name, value in statistics.items()),
        *((name, float(value[0]), True) for name, value in equations.items()),
    ]:
        interval = bounds.get(name)
        lower, upper = (interval.lower, interval.upper) if interval else (value, value)
        lower, upper = min(lower, value), max(upper, value)
        values.append(ReleasedValue(name, is_equation, value, lower, upper, errors.get(name, 0.0)))
    scales = _release_scales(design, chosen.budgets)
    return StatisticsRelease(chosen, tuple(values), scales, noise.name, noise.sampler.private, pilot)


def draw_measurements(
    chosen: Plan, exact: Mapping[str, Any], noise: Noise, releases: int = 1
) -> NDArray[np.float64]:
    """Noise and consistency: releases × measurements. One release is published; tests draw thousands."""
    design = chosen.design
    return _consistent(chosen, _noisy(design, exact, chosen.budgets, noise, releases=releases))


def _consistent(chosen: Plan, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
    value_scales = np.array([chosen.scales[m.name] for m in chosen.design.measurements])
    return reconcile(noisy, value_scales, constraints_of(chosen.design))


def plan_with_pilot(
    specification: Specification, records: RecordSource, noise: Noise, allocator: str
) -> tuple[Plan, dict[str, float]]:
    """Pay a share of the budget, split evenly, for rough values; plan the rest on those.

    The second part is chosen after looking at the first: adaptive composition, and the shares add up.
    """
    rough = replace(specification, equations=(), totals=())
    design, _ = design_for(rough, share=specification.pilot)
    budgets = exact_budgets(uniform(Problem(design.metric, design.feasible)), design.feasible, design.total)
    noisy = _noisy(design, compute(design, records), budgets, noise, "pilot ")
    values = {name: float(value[0]) for name, value in evaluate(design, noisy)[0].items()}
    return split_by_rule(specification, allocator, expected=values, report_losses=False), values


def evaluate(design: Design, measured: NDArray[np.float64]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Statistics from measurements (releases × measurements), equations from statistics."""
    noisy = {m.name: measured[:, i] for i, m in enumerate(design.measurements)}
    statistics = {name: _row(form, noisy, len(measured)) for name, form in design.statistics.items()}
    equations = {
        name: _row(form, {key: statistics[key] for key in names_in(form)}, len(measured))
        for name, form in design.equations.items()
    }
    return statistics, equations


def _row(form: Expression, inputs: Mapping[str, Floats], releases: int) -> Floats:
    return np.broadcast_to(np.asarray(Tape.of(form).value(inputs), dtype=np.float64), (releases,))


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
    design: Design,
    exact: Mapping[str, Any],
    budgets: Sequence[Fraction],
    noise: Noise,
    part: str = "",
    releases: int = 1,
) -> NDArray[np.float64]:
    columns = []
    specification = design.specification
    neighbours, zcdp = specification.neighbours, specification.budget.notion is not Notion.PURE
    for m, quantity, budget in zip(design.measurements, design.metric.quantities, budgets, strict=True):
        stream = f"statistics {part}{specification.digest} {m.name}"
        if m.kind is Kind.QUANTILE:
            columns.append(noise.choose(exact[m.name], m, budget, zcdp, neighbours, stream, releases))
        else:
            columns.append(noise.add(exact[m.name], m, quantity.family, budget, neighbours, stream, releases))
    return np.stack(columns, axis=1)
