"""make_release(): exact measurements, noise, consistency, statistics, equations, intervals. In this order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.releasing.consistency import LEVEL, Replay, possible_range
from coterie.statistics.releasing.large_tables import ReleasedTable, ReleasedValue, released_tables
from coterie.statistics.releasing.measuring import Noise, compute, release_scale, threshold_of
from coterie.statistics.releasing.records import RecordSource
from coterie.statistics.specification.calculus import Range, Tape
from coterie.statistics.specification.equations import Expression, names_in
from coterie.statistics.specification.filters import label_text
from coterie.statistics.specification.specification import Specification, StatisticKind


@dataclass(frozen=True)
class StatisticsRelease:
    plan: Plan
    values: tuple[ReleasedValue, ...]
    noisy: Floats  # every number that was measured, as it was drawn
    scales: Mapping[str, float]
    sampler: str
    private: bool
    tables: Mapping[str, ReleasedTable] = field(default_factory=dict)
    pilot: Mapping[str, float] | None = None
    uninformative: tuple[str, ...] = ()  # figures whose intervals hold all that is possible
    apart: float = 0.0  # by how many records tables in a circle differ in what they share

    def __getitem__(self, name: str) -> ReleasedValue:
        return next(value for value in self.values if value.name == name)


def make_release(
    chosen: Plan, records: RecordSource, noise: Noise, pilot: Mapping[str, float] | None = None
) -> StatisticsRelease:
    """Draw once. Whoever calls this has to charge for it."""
    design = chosen.design
    exact = compute(design, records, noise.sampler)
    shown = _shown_keys(chosen, exact, noise)
    noisy = add_noise(design, exact, chosen.budgets, noise)
    replay = Replay.of(design, as_floats(chosen.budgets))
    made = replay.made
    cells = made.tables(noisy)
    asked = made.published(noisy, cells)
    statistics, equations = evaluate(design, asked)
    bounds = replay.intervals(noisy[0], published=asked[0])
    everything = {e.target.name: possible_range(e.target.expression) for e in design.metric.errors}
    errors = {error.name: error.mean for error in chosen.errors}
    singles = {s.name: s for s in chosen.specification.statistics if s.table is None}
    values, counts = [], {}
    for name, drawn in (statistics | equations).items():
        if name in shown:
            values += shown[name]
        elif name in singles or name in equations:
            value = float(drawn[0])
            interval = bounds.get(name, Range(value, value))
            ends = min(interval.lower, value), max(interval.upper, value)
            values.append(ReleasedValue(name, name in equations, value, *ends, errors.get(name, 0.0)))
            single = singles.get(name)
            if single is not None and single.kind is StatisticKind.COUNT:
                counts[single.where] = values[-1]
    known = [np.where(fit.unseen, np.inf, one[0]) for fit, one in zip(made.fits, cells, strict=True)]
    nothing = [name for name, interval in bounds.items() if interval == everything[name]]
    linked = [links for links in made.links if links.linked and made.groups[links.tables[0]].counts]
    return StatisticsRelease(
        chosen,
        tuple(values),
        noisy[0],
        _release_scales(design, chosen.budgets),
        noise.name,
        noise.sampler.private,
        released_tables(chosen, exact, noise, known, counts),
        pilot,
        tuple(name for name in nothing if name not in shown and (name in singles or name in equations)),
        max((links.apart([cells[table] for table in links.tables]) for links in linked), default=0.0),
    )


def _shown_keys(chosen: Plan, exact: Mapping[str, Any], noise: Noise) -> dict[str, list[ReleasedValue]]:
    """For each count by private keys, the keys that are shown."""
    design, specification = chosen.design, chosen.specification
    budgets = dict(zip((m.name for m in design.measurements), chosen.budgets, strict=True))
    errors = {error.name: error.mean for error in chosen.errors}
    found: dict[str, list[ReleasedValue]] = {}
    drawn: dict[str, dict[str, int]] = {}  # once, also where two statistics ask for the same
    for s in specification.statistics:
        if s.kind is StatisticKind.KEYS:
            (measured,) = names_in(design.statistics[s.name])
            threshold = threshold_of(budgets[measured], specification)
            stream = f"statistics {specification.digest} {measured}"
            if measured not in drawn:
                drawn[measured] = noise.show_keys(exact[measured], threshold, stream)
            rows = []
            for key, count in drawn[measured].items():
                lower, upper = threshold.interval(count, LEVEL)
                name = f"{s.name}[{label_text(key)}]"
                rows.append(
                    ReleasedValue(name, False, count, lower, upper, errors[s.name], statistic=s.name, key=key)
                )
            found[s.name] = rows
    return found


def plan_with_pilot(
    specification: Specification, records: RecordSource, noise: Noise, allocator: str
) -> tuple[Plan, dict[str, float]]:
    """Pay a share of the budget, split evenly, for rough values; plan the rest on those.

    The second part is chosen after looking at the first: adaptive composition, and the shares add up.
    """
    rough = replace(specification, equations=(), complete=())
    design, _ = design_for(rough, share=specification.pilot)
    budgets = exact_budgets(uniform(Problem(design.metric, design.feasible)), design.feasible, design.total)
    noisy = add_noise(design, compute(design, records, noise.sampler), budgets, noise, "pilot ")
    fitted = design.reconstruction(as_floats(budgets)).fitted(noisy)
    values = {name: float(value[0]) for name, value in evaluate(design, fitted)[0].items()}
    return split_by_rule(specification, allocator, expected=values, report_losses=False), values


def evaluate(design: Design, values: NDArray[np.float64]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Statistics from quantities (releases × quantities), equations from statistics."""
    noisy = {q.name: values[:, i] for i, q in enumerate(design.metric.quantities)}
    statistics = {name: _row(form, noisy, len(values)) for name, form in design.statistics.items()}
    equations = {
        name: _row(form, {key: statistics[key] for key in names_in(form)}, len(values))
        for name, form in design.equations.items()
    }
    return statistics, equations


def _row(form: Expression, inputs: Mapping[str, Floats], releases: int) -> Floats:
    return np.broadcast_to(np.asarray(Tape.of(form).value(inputs), dtype=np.float64), (releases,))


def _release_scales(design: Design, budgets: Sequence[Fraction]) -> dict[str, float]:
    neighbours, zcdp = design.specification.neighbours, design.specification.budget.zcdp
    return {
        m.name: release_scale(source.family, m.bound.nominal(neighbours, m.where.everyone), budget, zcdp)
        for m, source, budget in zip(design.measurements, design.metric.sources, budgets, strict=True)
    }


def add_noise(
    design: Design,
    exact: Mapping[str, Any],
    budgets: Sequence[Fraction],
    noise: Noise,
    part: str = "",
    releases: int = 1,
) -> NDArray[np.float64]:
    columns = []
    specification, neighbours = design.specification, design.specification.neighbours
    for m, source, budget in zip(design.measurements, design.metric.sources, budgets, strict=True):
        stream = f"statistics {part}{specification.digest} {m.name}"
        found = exact[m.name]
        if m.kind in (Kind.KEYS, Kind.TABLE):
            # Drawn elsewhere: of keys, what is not shown must not leave there; a table is no number of a fit.
            columns.append(np.zeros((releases, 1)))
        elif isinstance(m, Measurement) and m.kind is Kind.QUANTILE:
            drawn = noise.choose(found, m, budget, specification.budget.zcdp, neighbours, stream, releases)
            columns.append(drawn[:, None])
        else:
            numbers = found if isinstance(m, JointMeasurement) else [found]
            columns.append(noise.add(numbers, m, source.family, budget, neighbours, stream, releases))
    return np.hstack(columns)
