"""A specification made ready to be split: what is measured, directly or through sums, and what one record can touch."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats
from coterie.schema.exact import number
from coterie.statistics.planning.composition import Feasible, neighbour_rows
from coterie.statistics.planning.guesses import fit_guesses, repaired
from coterie.statistics.planning.strategy import Key, Strategy, group_asked, make_joint
from coterie.statistics.prediction.derivation import (
    Derivation,
    derive,
    domain_of,
    unit_of_equation,
    unit_of_statistic,
)
from coterie.statistics.prediction.guarding import guarded
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.linking import SharedMargin, shared_margins
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.metric import Metric, NoiseSource
from coterie.statistics.prediction.noise_model import Family, scale_law
from coterie.statistics.prediction.rank_law import RankLaw
from coterie.statistics.prediction.reconstruction import (
    MOST_WEIGHTS,
    Group,
    Reconstruction,
    with_limits,
)
from coterie.statistics.prediction.target_error import Quantity, Target
from coterie.statistics.specification.calculus import Range, linear_form
from coterie.statistics.specification.cells import MOST_CELLS, Cells
from coterie.statistics.specification.equations import Expression, names_in, substitute
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.specification import (
    Route,
    Specification,
    Statistic,
    StatisticKind,
)

LEAST_SHARE = 0.02  # of an even split


@dataclass(frozen=True)
class Design:
    """`statistics` are expressions of measurements; `equations` of statistics, guarded."""

    specification: Specification
    routes: Mapping[str, Route]
    measurements: tuple[Measurement | JointMeasurement, ...]
    statistics: Mapping[str, Expression]
    equations: Mapping[str, Expression]
    metric: Metric
    feasible: Feasible
    total: Fraction
    warnings: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    tables: tuple[Floats, ...] = ()  # of each group, the cells that are expected
    # Stated guesses that contradict others, and what they became.
    repaired: tuple[tuple[str, float, float], ...] = ()

    @property
    def asked(self) -> tuple[Measurement, ...]:
        """What expressions are made of, whether it is measured by itself or together with others."""
        parts = (m.asked if isinstance(m, JointMeasurement) else (m,) for m in self.measurements)
        return tuple(itertools.chain.from_iterable(parts))

    @property
    def starts(self) -> tuple[int, ...]:
        """Where each measurement begins among all numbers that are measured; the last entry is how many there are."""
        return tuple(itertools.accumulate((number_of(m) for m in self.measurements), initial=0))

    def reconstruction(self, budgets: Floats) -> Reconstruction:
        """How what is asked is put together from what is measured under these budgets."""
        sources = self.metric.sources
        sds = [s.law.noise_scale(float(b)) for s, b in zip(sources, budgets, strict=True)]
        return Reconstruction.of(
            self.groups, self.starts, sds, self.metric.source_of, self.shared, self.rising
        )

    @cached_property
    def rising(self) -> tuple[tuple[int, ...], ...]:
        """Quantiles of the same values, as places among the quantities; lower ones first, as they are published."""
        place = {quantity.name: index for index, quantity in enumerate(self.metric.quantities)}
        found: dict[object, set[tuple[float, int]]] = {}
        for s in self.specification.statistics:
            if s.kind is StatisticKind.QUANTILE:
                (measured,) = names_in(self.statistics[s.name])
                found.setdefault((s.where, s.columns), set()).add((s.quantile, place[measured]))
        return tuple(tuple(index for _, index in sorted(pairs)) for pairs in found.values() if len(pairs) > 1)

    @cached_property
    def shared(self) -> tuple[tuple[tuple[int, ...], tuple[SharedMargin, ...]], ...]:
        """Groups of one kind, and the margins that they share."""
        kinds: dict[object, list[int]] = {}
        for place, group in enumerate(self.groups):
            kinds.setdefault((group.counts, group.terms), []).append(place)
        return tuple(
            (tuple(members), shared_margins([self.groups[place].cells for place in members]))
            for members in kinds.values()
            if len(members) > 1
        )

    @property
    def parallel(self) -> bool:
        """Whether disjoint groups made the budget go further than one after the other."""
        return not (len(self.feasible.rows) == 1 and bool((self.feasible.rows == 1.0).all()))


def number_of(measurement: Measurement | JointMeasurement) -> int:
    """How many numbers are measured."""
    return measurement.count if isinstance(measurement, JointMeasurement) else 1


def build_design(
    specification: Specification,
    routes: Mapping[str, Route],
    expectations: Expectations,
    share: Fraction = Fraction(1),
    strategies: Mapping[Key, Strategy] | Strategy | None = None,
) -> Design:
    """Measurements, metric and budget rows; `share` is the part of the budget that may be used.

    `strategies` says what is measured together, and how (one for all: whatever can be); all else is measured as it is
    asked, each by itself.
    """
    derivations = {
        statistic.name: derive(specification, statistic, routes.get(statistic.name, Route.DIRECT))
        for statistic in specification.statistics
    }
    asked = _distinct(derivations)
    expected = {s.name: expectations.statistic(s) for s in specification.statistics}
    ranges = {s.name: domain_of(specification, s) for s in specification.statistics}
    zcdp = specification.budget.zcdp
    found = group_asked(specification, asked)
    if isinstance(strategies, Strategy):
        fitting = (k for k, (p, cells) in found.items() if cells and 1 < len(p) <= MOST_WEIGHTS // len(cells))
        strategies = dict.fromkeys(fitting, strategies)
    joints = {
        key: make_joint(key, [asked[i] for i in places], cells, strategies[key], zcdp)
        for key, (places, cells) in found.items()
        if strategies and key in strategies and cells is not None
    }
    together = {i for key in joints for i in found[key][0]}
    singles = [m for i, m in enumerate(asked) if i not in together]
    measurements: tuple[Measurement | JointMeasurement, ...] = (*singles, *joints.values())
    directly = _directly(specification)
    quantities, sources, groups, tables = _quantities(
        specification, asked, measurements, found, joints, expectations, directly
    )
    warnings = [
        f"{len(places):,} {'counts' if key[0] is Kind.COUNT else 'sums'} over {' × '.join(key[2])} are measured one by one "
        f"and not fitted together, so that they may disagree: they have more than {MOST_CELLS:,} cells, or more than "
        f"{MOST_WEIGHTS:,} weights over them. Ask for tables of fewer columns at once."
        for key, (places, cells) in found.items()
        if key not in joints and (cells is None or len(cells) * len(places) > MOST_WEIGHTS)
    ]
    equations = guarded(specification, ranges, expected, warnings)
    _require_expectations(specification, expectations, equations)
    rows = np.ones((1, 0))
    if singles:
        rows = neighbour_rows(
            [measurement.where for measurement in singles],
            [measurement.bound for measurement in singles],
            specification.neighbours,
            zcdp,
            [frozenset(group) for group in specification.disjoint],
        )
    # Any record may touch every joint measurement in full.
    rows = np.hstack([rows, np.ones((len(rows), len(joints)))])
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
        Metric(quantities, targets, sources),
        Feasible(rows, float(total), floors),
        total,
        tuple(dict.fromkeys(warnings)),
        groups,
        tables,
        tuple(repaired(directly, quantities, expectations)),
    )


def metric_at(design: Design, expectations: Expectations) -> Metric:
    """The same targets in the same units, if the statistics were worth something else."""
    directly = _directly(design.specification)
    worth = {
        m.name: _worth(design.specification, m, directly.get(m.name), expectations) for m in design.asked
    }
    quantities = [
        replace(q, value=worth[q.name][0], law=worth[q.name][1] or q.law, unstated=worth[q.name][2])
        for q in design.metric.quantities
    ]
    fit_guesses(design.groups, quantities, expectations)
    return Metric(tuple(quantities), design.metric.targets, design.metric.given)


def _distinct(derivations: Mapping[str, Derivation]) -> tuple[Measurement, ...]:
    """What is measured, each once: two statistics share a measurement only if all of its content is equal."""
    named: dict[str, Measurement] = {}
    for measurement in itertools.chain.from_iterable(needed for _, needed in derivations.values()):
        if named.setdefault(measurement.name, measurement) != measurement:
            raise AssertionError("two different measurements have one name")
    found = tuple(named.values())
    if not found:
        raise ParameterError(
            "Nothing needs noise: every statistic asked for is already public.", "Publish it as it is."
        )
    return found


def _quantities(
    specification: Specification,
    asked: tuple[Measurement, ...],
    measurements: tuple[Measurement | JointMeasurement, ...],
    found: Mapping[Key, tuple[list[int], Cells | None]],
    joints: Mapping[Key, JointMeasurement],
    expectations: Expectations,
    directly: Mapping[str, Statistic],
) -> tuple[tuple[Quantity, ...], tuple[NoiseSource, ...], tuple[Group, ...], tuple[Floats, ...]]:
    """What expressions are made of, what is measured for it, and which of it must fit together."""
    zcdp = specification.budget.zcdp
    place = {m.name: index for index, m in enumerate(measurements)}
    in_joint = {m.name: (joint, row) for joint in joints.values() for row, m in enumerate(joint.asked)}
    quantities, sources = [], {}
    for m in asked:
        value, of_ranks, unstated = _worth(specification, m, directly.get(m.name), expectations)
        joint, row = in_joint.get(m.name, (None, 0))
        measured: Measurement | JointMeasurement = m if joint is None else joint
        family = _family(m.kind, zcdp) if joint is None else _family_of(joint)
        sensitivity = measured.bound.nominal(specification.neighbours, measured.where.everyone)
        law = of_ranks or scale_law(family, sensitivity)
        source = place[measured.name]
        sources[source] = NoiseSource(measured.name, family, law)
        quantities.append(Quantity(m.name, value, family, law, unstated, source, joint, row))
    groups: list[Group] = []
    least = _least_sizes(specification)
    for key, (places, cells) in found.items():
        joint = joints.get(key)
        if cells is None or (joint is None and len(cells) * len(places) > MOST_WEIGHTS):
            continue
        groups.append(
            Group(
                cells,
                np.array([cells.holds(asked[i].where) for i in places]) if joint is None else joint.held,
                tuple(places),
                tuple(place[asked[i].name] for i in places) if joint is None else (place[joint.name],),
                joint,
                asked[places[0]].kind is Kind.COUNT,
                None if specification.size is None else float(specification.size),
                tuple(asked[i].name for i in places),
                key[1],
                least=tuple(
                    (row, least[asked[i].where])
                    for row, i in enumerate(places)
                    if asked[i].kind is Kind.COUNT and asked[i].where in least
                ),
            )
        )
    groups = with_limits(groups, {m.terms: (m.ends, m.last) for m in asked if m.kind is Kind.SUM})
    tables = fit_guesses(groups, quantities, expectations)
    ordered = tuple(sources[index] for index in range(len(measurements)))
    return tuple(quantities), ordered, tuple(groups), tables


def _least_sizes(specification: Specification) -> dict[Filter, int]:
    """Groups of which a public lower bound of their size is stated."""
    found: dict[Filter, int] = {}
    for s in specification.statistics:
        if s.at_least is not None:
            found[s.where] = max(s.at_least, found.get(s.where, 0))
    return found


def _worth(
    specification: Specification, m: Measurement, statistic: Statistic | None, expectations: Expectations
) -> tuple[float, RankLaw | None, tuple[str, ...]]:
    """The expected value, the law of a quantile, and what nobody said of it."""
    zcdp = specification.budget.zcdp
    value = expectations.measurement(m)
    if statistic is not None and m.kind is not Kind.COUNT:
        value = expectations.statistic(statistic)
    law = None
    if m.kind is Kind.QUANTILE and statistic is not None:
        sensitivity = m.bound.nominal(specification.neighbours, m.where.everyone)
        size = max(round(expectations.size(m.where)), 1)
        law = RankLaw(expectations.shape(statistic), size, m.quantile, m.candidates, sensitivity, zcdp)
    stated = statistic is not None and statistic.name in expectations.given
    unstated = expectations.unstated(m)
    if stated and m.kind is not Kind.QUANTILE:
        unstated = ()
    elif not stated and (m.kind.padded or m.kind is Kind.DISTINCT):
        unstated = (f"{m.name} of {number(value, 6)}",)
    return value, law, unstated


def _directly(specification: Specification) -> Mapping[str, Statistic]:
    """Map each directly measured quantity to the statistic that it is."""
    return {
        m.name: statistic
        for statistic in specification.statistics
        if not statistic.derived
        for m in derive(specification, statistic, Route.DIRECT)[1]
    }


def _family_of(joint: JointMeasurement) -> Family:
    whole = joint.kind is Kind.COUNT and joint.grid == 1
    return _family(Kind.COUNT if whole else Kind.SUM, joint.gaussian)


def _family(kind: Kind, zcdp: bool) -> Family:
    if kind is Kind.QUANTILE:
        return Family.RANK
    if kind.counts:
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
        for name in names_in(equations[equation.name]):
            public = specification[name].where == Filter() and specification.records is not None
            if name not in expectations.given and not (public and specification[name].kind == "count"):
                raise ParameterError(
                    f"Equation '{equation.name}' is not linear, and nothing is said about '{name}'.",
                    f"Give '{name}' an `expected` value or range (a guess, last year's release, a public "
                    "sample), or set `pilot: 0.1` to pay for it. The plan never looks at the data.",
                )
