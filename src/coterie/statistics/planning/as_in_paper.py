"""Planning as Nunes 2024 does it: sensitivities by leaving one record out, and the split tuned on the true values.

Refuted as differential privacy. The leave-one-out sensitivity of a table says nothing about its neighbours
(a far-off record can move their statistics much further), and both it and the tuned split are functions of
the data that no noise covers. It exists to repeat the paper, and every release made with it says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Problem, find_allocator
from coterie.statistics.planning.composition import exact_budgets
from coterie.statistics.planning.design import Design, build_design
from coterie.statistics.planning.plan import Plan
from coterie.statistics.planning.planner import planned
from coterie.statistics.prediction.measurement import Kind, Measurement, SensitivityBound
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.prediction.noise_model import scale_law
from coterie.statistics.prediction.target_error import Quantity
from coterie.statistics.releasing.measuring import read_people
from coterie.statistics.releasing.records import Kinds, People, RecordSource
from coterie.statistics.specification.equations import names_in
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.specification import (
    Notion,
    Route,
    Specification,
    Statistic,
    StatisticKind,
)

WARNING = "Refuted: not differentially private. Sensitivities and the split were taken from the data, as in Nunes 2024."


def leave_one_out(values: Floats, kind: StatisticKind) -> tuple[float, float]:
    """The statistic, and the most it changes when one record is left out (Nunes 2024, §5.4), without a loop."""
    n = len(values)
    if n < 3:
        raise ParameterError("A group has fewer than three records.", "Leaving one out needs more.")
    mean = values.mean()
    without = (mean * n - values) / (n - 1)
    if kind is StatisticKind.MEAN:
        return float(mean), float(np.abs(without - mean).max())
    if kind is StatisticKind.SUM:
        return float(values.sum()), float(np.abs(values).max())
    squares = ((values - mean) ** 2).sum()
    variance = squares / (n - 1)
    others = np.maximum(squares - (values - mean) ** 2 * n / (n - 1), 0.0) / (n - 2)
    if kind is StatisticKind.VARIANCE:
        return float(variance), float(np.abs(others - variance).max())
    return float(np.sqrt(variance)), float(np.abs(np.sqrt(others) - np.sqrt(variance)).max())


def plan_as_in_paper(specification: Specification, records: RecordSource, allocator: str) -> Plan:
    """Every statistic measured directly, one after the other, with the paper's sensitivities."""
    if specification.budget.notion is not Notion.PURE:
        raise ParameterError("Nunes 2024 uses pure differential privacy only.", "Give the budget as epsilon.")
    if specification.schema.unit is not None:
        raise ParameterError(
            "Nunes 2024 takes every record for a person, and the schema names a unit.",
            "Leave out `unit`, or --as-in-paper.",
        )
    routes = {statistic.name: Route.DIRECT for statistic in specification.statistics}
    # Any values will do for building the measurements, which refuses what cannot be planned; the true ones replace them.
    neutral = Expectations.of(specification)
    assumed = {s.name: neutral.statistic(s) or 1.0 for s in specification.statistics}
    build_design(specification, routes, Expectations.of(specification, assumed))
    people, kinds = read_people(specification, records)
    facts = {s.name: _facts(people, kinds, s) for s in specification.statistics}
    truth = {name: value for name, (value, _) in facts.items()}
    design = build_design(specification, routes, Expectations.of(specification, truth))
    return _plan(_with_paper_sensitivities(design, facts), allocator, truth)


def _facts(people: People, kinds: Kinds, s: Statistic) -> tuple[float, float]:
    if s.weighted_by:
        raise ParameterError(
            "Nunes 2024 has no weights.", "Write weighted: false, or plan without --as-in-paper."
        )
    if s.kind is StatisticKind.COUNT:
        return float(kinds.count(s.where)), 1.0
    if s.kind not in (StatisticKind.MEAN, StatisticKind.SUM, StatisticKind.VARIANCE, StatisticKind.STD):
        raise ParameterError(
            f"Nunes 2024 has no {s.kind.value}.", "Leave it out, or plan without --as-in-paper."
        )
    if len(s.columns) != 1:
        raise ParameterError(
            "Nunes 2024 has no sums of products.", "Leave it out, or plan without --as-in-paper."
        )
    return leave_one_out(people.numbers(s.columns[0])[kinds.mask(s.where)], s.kind)


def _with_paper_sensitivities(design: Design, facts: dict[str, tuple[float, float]]) -> Design:
    by_measurement = {
        node: sensitivity
        for name, (_, sensitivity) in facts.items()
        for node in names_in(design.statistics[name])
    }
    measurements, quantities = [], []
    for m, quantity in zip(design.measurements, design.metric.quantities, strict=True):
        size = 1.0 if m.kind is Kind.COUNT else by_measurement[m.name]
        bound = SensitivityBound(
            size, size, "Δ = max |f(D) − f(D∖{i})| on these data (Nunes 2024, §5.4)", WARNING
        )
        assert isinstance(m, Measurement)  # nothing is measured together here
        measurements.append(replace(m, bound=bound))
        law = scale_law(quantity.family, size)
        quantities.append(Quantity(quantity.name, quantity.value, quantity.family, law))
    feasible = replace(design.feasible, rows=np.ones((1, len(measurements))))
    return replace(
        design,
        measurements=tuple(measurements),
        metric=Metric(tuple(quantities), design.metric.targets),
        feasible=feasible,
        groups=(),
        tables=(),
    )


def _plan(design: Design, allocator: str, truth: dict[str, float]) -> Plan:
    problem = Problem(design.metric, design.feasible)
    budgets = exact_budgets(find_allocator(allocator).allocate(problem), design.feasible, design.total)
    made = planned(design, allocator, budgets, expected=truth)
    return replace(made, warnings=(WARNING, *design.warnings), notes=(), as_in_paper=True)
