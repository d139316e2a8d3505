"""A specification made ready to be split: what is measured, directly or through sums, and what one record can touch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from coterie.errors import ParameterError
from coterie.statistics.allocators import Problem, gradient, square_root
from coterie.statistics.planning.composition import Feasible, minimise, neighbour_rows
from coterie.statistics.prediction.derivation import (
    Derivation,
    can_use_sums,
    derive,
    domain_of,
    guard,
    unit_of_equation,
    unit_of_statistic,
)
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.prediction.noise_model import Family, ScaleLaw, scale_law
from coterie.statistics.prediction.rank_law import RankLaw
from coterie.statistics.prediction.target_error import Quantity, Target
from coterie.statistics.specification.calculus import Range, linear_form
from coterie.statistics.specification.equations import Expression, names_in, substitute
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.specification import Notion, Route, Specification

LEAST_SHARE = 0.02  # of an even split


@dataclass(frozen=True)
class Design:
    """`statistics` are expressions of measurements; `equations` of statistics, guarded."""

    specification: Specification
    routes: Mapping[str, Route]
    measurements: tuple[Measurement, ...]
    statistics: Mapping[str, Expression]
    equations: Mapping[str, Expression]
    metric: Metric
    feasible: Feasible
    total: Fraction
    warnings: tuple[str, ...]

    @property
    def parallel(self) -> bool:
        """Whether disjoint groups made the budget go further than one after the other."""
        return not (len(self.feasible.rows) == 1 and bool((self.feasible.rows == 1.0).all()))


def build_design(
    specification: Specification,
    routes: Mapping[str, Route],
    expectations: Expectations,
    share: Fraction = Fraction(1),
) -> Design:
    """Measurements, metric and budget rows; `share` is the part of the budget that may be used."""
    derivations = {
        statistic.name: derive(specification, statistic, routes.get(statistic.name, Route.DIRECT))
        for statistic in specification.statistics
    }
    measurements = _distinct(derivations)
    expected = {s.name: expectations.statistic(s) for s in specification.statistics}
    ranges = {s.name: domain_of(specification, s) for s in specification.statistics}
    quantities = _quantities(specification, measurements, expectations)
    warnings: list[str] = []
    equations = {e.name: guard(e, ranges, expected, warnings) for e in specification.equations}
    _require_expectations(specification, expectations, equations)
    zcdp = specification.budget.notion is not Notion.PURE
    rows = neighbour_rows(
        [measurement.where for measurement in measurements],
        [measurement.bound for measurement in measurements],
        specification.neighbours,
        zcdp,
        [frozenset(group) for group in specification.disjoint],
    )
    total = specification.budget.total * share
    # Where a clamp makes an error level off, a search would starve that statistic: nobody gets nothing.
    least = LEAST_SHARE * float(total) / float(rows.sum(axis=1).max())
    floors = np.full(len(measurements), max(float(specification.floor * share), least))
    statistics = {name: expression for name, (expression, _) in derivations.items()}
    targets = _targets(specification, statistics, equations, expected, ranges, quantities)
    return Design(
        specification,
        dict(routes),
        measurements,
        statistics,
        equations,
        Metric(quantities, targets),
        Feasible(rows, float(total), floors),
        total,
        tuple(dict.fromkeys(warnings)),
    )


def metric_at(design: Design, expectations: Expectations) -> Metric:
    """The same targets in the same units, if the statistics were worth something else."""
    quantities = _quantities(design.specification, design.measurements, expectations)
    return Metric(quantities, design.metric.targets)


def _distinct(derivations: Mapping[str, Derivation]) -> tuple[Measurement, ...]:
    """What is measured, each once: two statistics share a measurement only if all of its content is equal."""
    found = tuple(dict.fromkeys(m for _, needed in derivations.values() for m in needed))
    if len({measurement.name for measurement in found}) != len(found):
        raise AssertionError("two different measurements have one name")
    if not found:
        raise ParameterError(
            "Nothing needs noise: every statistic asked for is already public.", "Publish it as it is."
        )
    return found


def _quantities(
    specification: Specification, measurements: tuple[Measurement, ...], expectations: Expectations
) -> tuple[Quantity, ...]:
    zcdp = specification.budget.notion is not Notion.PURE
    by_direct = {
        measurement.name: statistic
        for statistic in specification.statistics
        for measurement in derive(specification, statistic, Route.DIRECT)[1]
    }
    quantities = []
    for measurement in measurements:
        statistic = by_direct.get(measurement.name)
        value = expectations.measurement(measurement) if measurement.kind is not Kind.QUANTILE else 0.0
        sensitivity = measurement.bound.nominal(specification.neighbours, measurement.where.everyone)
        family = _family(measurement.kind, zcdp)
        if statistic is not None and measurement.kind is not Kind.COUNT:
            value = expectations.statistic(statistic)
        law: ScaleLaw | RankLaw = scale_law(family, sensitivity)
        if measurement.kind is Kind.QUANTILE and statistic is not None:
            size = max(round(expectations.size(measurement.where)), 1)
            shape, level = expectations.shape(statistic), measurement.quantile
            law = RankLaw(shape, size, level, measurement.candidates, sensitivity, zcdp)
        stated = statistic is not None and statistic.name in expectations.given
        unstated = expectations.unstated(measurement)
        if stated and measurement.kind is not Kind.QUANTILE:
            unstated = ()
        elif not stated and measurement.kind in (Kind.MEAN, Kind.VARIANCE, Kind.STD):
            unstated = (f"{measurement.name} of {value:g}",)
        quantities.append(Quantity(measurement.name, value, family, law, unstated))
    return tuple(quantities)


def _family(kind: Kind, zcdp: bool) -> Family:
    if kind is Kind.QUANTILE:
        return Family.RANK
    if kind is Kind.COUNT:
        return Family.DISCRETE_GAUSSIAN if zcdp else Family.DISCRETE_LAPLACE
    return Family.GAUSSIAN if zcdp else Family.LAPLACE


def _targets(
    specification: Specification,
    statistics: Mapping[str, Expression],
    equations: Mapping[str, Expression],
    expected: Mapping[str, float],
    ranges: Mapping[str, Range],
    quantities: tuple[Quantity, ...],
) -> tuple[Target, ...]:
    targets = []
    for s in specification.statistics:
        if names_in(statistics[s.name]):  # a public number has no error
            unit = unit_of_statistic(specification, s, expected[s.name], ranges[s.name])
            targets.append(Target(s.name, statistics[s.name], s.weight, unit, s.summary, s.tolerance))
    for e in specification.equations:
        expression = substitute(equations[e.name], statistics)
        if names_in(expression):
            unit = unit_of_equation(specification, e, equations[e.name], expected)
            targets.append(Target(e.name, expression, e.weight, unit, e.summary, e.tolerance, True))
    return tuple(targets)


def _require_expectations(
    specification: Specification, expectations: Expectations, equations: Mapping[str, Expression]
) -> None:
    """The error of an equation that is not linear depends on the values: they must be stated."""
    if specification.pilot:
        return
    for equation in specification.equations:
        if linear_form(equations[equation.name]) is not None:
            continue
        for name in names_in(equation.expression):
            public = specification[name].where == Filter() and specification.records is not None
            if name not in expectations.given and not (public and specification[name].kind == "count"):
                raise ParameterError(
                    f"Equation '{equation.name}' is not linear, and nothing is said about '{name}'.",
                    f"Give '{name}' an `expected` value or range (a guess, last year's release, a public "
                    "sample), or set `pilot: 0.1` to pay for it. The plan never looks at the data.",
                )


MOST_GROUPS_TRIED_ALONE = 12
Build = Callable[[Mapping[str, Route]], Design]


def choose_routes(specification: Specification, build: Build) -> dict[str, Route]:
    """The route of each statistic that has a choice. Uses expected values only, never the data.

    All direct and all from sums are compared first; then each group and column is switched alone, and the
    switch is kept if the best split of the whole gets better. What the specification fixes stays.
    """
    free = [s for s in specification.statistics if s.route is Route.AUTO and can_use_sums(s)]
    fixed: dict[str, Route] = {s.name: s.route for s in specification.statistics if s.route is not Route.AUTO}
    if not free:
        return fixed
    groups: dict[object, list[str]] = {}
    for statistic in free:
        groups.setdefault((statistic.where, statistic.columns, statistic.that), []).append(statistic.name)
    best: dict[str, Route] = {}
    best_score = float("inf")
    problem: ParameterError | None = None

    def tried(candidate: dict[str, Route], margin: float = 0.0) -> None:
        nonlocal best, best_score, problem
        try:
            score = _quick_score(build(candidate))
        except ParameterError as error:  # more measurements may not fit above the floors
            problem = error
            return
        if score < best_score * (1 - margin):
            best, best_score = candidate, score

    for route in (Route.SUMS, Route.DIRECT):
        tried({**fixed, **{s.name: route for s in free}})
    if not best:
        assert problem is not None
        raise problem
    if 1 < len(groups) <= MOST_GROUPS_TRIED_ALONE:
        for names in groups.values():
            other = Route.DIRECT if best[names[0]] is Route.SUMS else Route.SUMS
            tried({**best, **dict.fromkeys(names, other)}, margin=1e-6)
    return best


def _quick_score(design: Design) -> float:
    problem = Problem(design.metric, design.feasible)
    found = minimise(
        lambda budgets: design.metric.score_gradient(budgets, exponent=8),
        design.feasible,
        problem.powers,
        square_root.allocate(problem),
        tolerance=1e-3,
        steps=25 if len(design.metric.targets) <= gradient.MANY_TARGETS else 6,
    )
    return found.value
