"""The split by an allocator, in seconds and without a look at the data; and what a wrong guess would cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np

from coterie.errors import ParameterError, shortened
from coterie.schema.arrays import Floats
from coterie.schema.exact import number, number_text
from coterie.statistics.allocators import (
    DEFAULT,
    Allocator,
    NotApplicable,
    Problem,
    allocators,
    find_allocator,
)
from coterie.statistics.allocators.fixed_shares import uniform
from coterie.statistics.allocators.searches import first_order, largest_of
from coterie.statistics.planning.composition import Feasible, as_floats, exact_budgets, minimise
from coterie.statistics.planning.design import Design, build_design, metric_at
from coterie.statistics.planning.plan import AllocatorRow, GuessLoss, Plan
from coterie.statistics.planning.plan_warnings import threshold_words, warnings_on
from coterie.statistics.planning.selection import best_design
from coterie.statistics.planning.strategy import Key, Strategy
from coterie.statistics.prediction.derivation import domain_of
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.prediction.noise_model import points
from coterie.statistics.prediction.reconstruction import Group
from coterie.statistics.prediction.target_error import PredictedError
from coterie.statistics.releasing.consistency import predict_consistent
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.specification import Route, Specification

# No statistic much worse than it could be: limits on errors, kept at the least cost to the score.

_EXPONENT = 9
_PENALTIES = (1.0, 10.0, 100.0)


def alone(feasible: Feasible) -> Floats:
    """The most that each measurement could get, if all others got their floors."""
    spare = feasible.total - feasible.rows @ feasible.floors
    room = np.full(feasible.rows.shape, np.inf)
    np.divide(spare[:, None], feasible.rows, out=room, where=feasible.rows > 0)
    return np.asarray(feasible.floors + room.min(axis=0))


def fair(problem: Problem, budgets: Floats, most: float) -> Floats:
    """The split nearest in score to `budgets` in which no error is above `most` times its own optimum.

    The own optimum is the error of a target if all that it is computed from had the whole budget.
    """
    metric, feasible = problem.metric, problem.feasible
    limits = most * metric.target_errors(alone(feasible), exponent=_EXPONENT)
    limits = np.where(limits > 0, limits, np.inf)

    def excess(candidate: Floats) -> float:
        return float((metric.target_errors(candidate, exponent=_EXPONENT) / limits).max())

    if excess(budgets) <= 1.0:
        return budgets
    fairest = smallest_excess(problem, limits)
    reached = excess(fairest)
    if reached > 1.0:
        worst = metric.targets[int((metric.target_errors(fairest, exponent=_EXPONENT) / limits).argmax())]
        raise ParameterError(
            f"fairness: {number(most, 12)} cannot be kept: at the fairest split '{worst.name}' is "
            f"{number(most * reached)} times worse than with the whole budget for itself.",
            f"Write fairness: {number_text(math.ceil(10.1 * most * reached) / 10)} or more, or publish fewer statistics.",
        )
    size = metric.score(budgets, exponent=_EXPONENT)
    found = budgets
    for penalty in _PENALTIES:

        def objective(candidate: Floats, weight: float = penalty * size) -> tuple[float, Floats]:
            errors, slopes = metric.gradient(candidate, exponent=_EXPONENT)
            over = np.maximum(errors / limits - 0.99, 0.0)
            pull = metric.shares + 2.0 * weight * over / limits
            return float(metric.shares @ errors + weight * (over**2).sum()), np.asarray(pull @ slopes)

        found = minimise(objective, feasible, problem.powers, found, tolerance=1e-6, steps=60).budgets
    # Errors are convex in the budgets, so the way to the fairest split ends inside the limits.
    near, far = 0.0, 1.0
    if excess(found) <= 1.0:
        return found
    for _ in range(30):
        middle = 0.5 * (near + far)
        near, far = (near, middle) if excess(found + middle * (fairest - found)) <= 1.0 else (middle, far)
    return np.asarray(found + far * (fairest - found))


def smallest_excess(problem: Problem, limits: Floats, start: Floats | None = None) -> Floats:
    """The split that makes the largest error/limit smallest (a p-norm stands for the maximum)."""

    def objective(budgets: Floats) -> tuple[float, Floats]:
        errors, slopes = problem.metric.gradient(budgets, exponent=_EXPONENT)
        return largest_of(errors / limits, slopes / limits[:, None])

    begin = first_order(problem) if start is None else start
    return minimise(objective, problem.feasible, problem.powers, begin, tolerance=1e-6, steps=120).budgets


# The report on wrong guesses plans again for each of them; large specifications ask for it explicitly.
MOST_TARGETS_FOR_LOSSES = 60


@contextmanager
def _one_thread() -> Iterator[None]:
    """Matrices of a plan are small: threads of linear algebra would wait for each other most of the time."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # only slower
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield


@_one_thread()
def split_by_rule(
    specification: Specification,
    allocator: str = DEFAULT,
    compare: Sequence[str] | None = (),
    report_losses: bool | None = None,
    expected: Mapping[str, float] | None = None,
) -> Plan:
    """Split the budget.

    `compare` names further allocators for the table (None: all). `expected` replaces the specification's
    expected values, for instance by a pilot's.
    """
    chosen = find_allocator(allocator)
    design, expectations = design_for(specification, expected, 1 - specification.pilot)
    of_ranges = compare is None or "robust" in (allocator, *compare)
    truths = possible_truths(design, expectations) if of_ranges else ()
    problem = Problem(design.metric, design.feasible, truths)
    found = _allocated(chosen, design, problem)
    if allocator == DEFAULT and specification.fairness is None:
        found = _nearer_even(design, problem, found)
    budgets = exact_budgets(found, design.feasible, design.total)
    expected = {s.name: expectations.statistic(s) for s in specification.statistics}
    made = planned(design, allocator, budgets, expected=expected)
    row = _row(problem, allocator, as_floats(budgets), made.errors)
    rows = [row] if compare == () else _compare(design, problem, row, compare)
    wanted = len(design.metric.targets) <= MOST_TARGETS_FOR_LOSSES if report_losses is None else report_losses
    losses = guess_losses(design, expectations, as_floats(budgets)) if wanted else ()
    return replace(made, rows=tuple(rows), guess_losses=losses)


def planned(
    design: Design, allocator: str, budgets: tuple[Fraction, ...], expected: Mapping[str, float] | None = None
) -> Plan:
    """The plan of a split that was found, with the errors to expect under it."""
    errors = predict(design, as_floats(budgets))
    score, standard_error = design.metric.score_of(errors)
    warnings, notes = (*warnings_on(design, errors), *threshold_words(design, budgets)), notes_on(design)
    return Plan(
        design,
        allocator,
        budgets,
        score,
        standard_error,
        errors,
        warnings=warnings,
        notes=notes,
        expected=expected or {},
    )


def design_for(
    specification: Specification, expected: Mapping[str, float] | None = None, share: Fraction = Fraction(1)
) -> tuple[Design, Expectations]:
    """The design with the better routes, and the expectations it rests on."""
    expectations = Expectations.of(specification, expected)
    made: list[tuple[Mapping[str, Route], Mapping[Key, Strategy] | Strategy, Design]] = []

    def build(routes: Mapping[str, Route], strategies: Mapping[Key, Strategy] | Strategy) -> Design:
        for earlier, measured, design in made:
            if earlier == routes and measured is strategies:
                return design
        design = build_design(specification, routes, expectations, share, strategies)
        made.append((dict(routes), strategies, design))
        return design

    return best_design(specification, build), expectations


def _compare(
    design: Design, problem: Problem, first: AllocatorRow, names: Sequence[str] | None
) -> list[AllocatorRow]:
    rows = [first]
    for name in allocators() if names is None else names:
        if name == first.allocator:
            continue
        try:
            budgets = _allocated(find_allocator(name), design, problem)
            rows.append(_row(problem, name, budgets, predict(design, budgets, rough=True)))
        except NotApplicable as error:
            title = find_allocator(name).title
            rows.append(AllocatorRow(name, title, float("inf"), 0.0, None, (), not_applicable=error.problem))
    return sorted(rows, key=lambda row: (bool(row.not_applicable), row.score))


_NEARER_EVEN = (0.5, 1.0)
_MOST_COMPARED = 1000  # targets


def _nearer_even(design: Design, problem: Problem, budgets: Floats) -> Floats:
    """The allocator looks at each error alone; where figures are fitted together, an evener split may be better."""
    apart = not any(matters(group) for group in design.groups)
    if apart or len(budgets) < 2 or len(design.metric.targets) > _MOST_COMPARED:
        return budgets
    even = uniform(problem)
    tried = [budgets, *((1 - part) * budgets + part * even for part in _NEARER_EVEN)]
    scores = [design.metric.score_of(predict(design, one, rough=True))[0] for one in tried]
    return tried[int(np.argmin(scores))]


def _allocated(allocator: Allocator, design: Design, problem: Problem) -> Floats:
    budgets, most = allocator.allocate(problem), design.specification.fairness
    return budgets if most is None else fair(problem, budgets, most)


def _row(problem: Problem, name: str, budgets: Floats, errors: tuple[PredictedError, ...]) -> AllocatorRow:
    score, standard_error = problem.metric.score_of(errors)
    worst = None
    if problem.scenarios:
        worst = max(metric.score(budgets, exponent=10) for metric in problem.scenarios)
    return AllocatorRow(name, find_allocator(name).title, score, standard_error, worst, errors)


def predict(design: Design, budgets: Floats, rough: bool = False) -> tuple[PredictedError, ...]:
    """The errors of every target under these budgets, as the release will make them.

    `rough`: for a score over many targets, whose errors of simulation average out.
    """
    count = len(design.metric.targets)
    exponent = 10 if count <= 100 else 8 if count <= 1000 else 7
    if rough and count > 100:
        exponent -= 2
    if any(matters(group) for group in design.groups):
        return predict_consistent(design, budgets, exponent)
    found = design.metric.predict(budgets, exponent=exponent)
    if not design.rising:
        return found
    sorted_ones = set(itertools.chain.from_iterable(design.rising))
    replayed = predict_consistent(design, budgets, exponent)
    return tuple(
        new if sorted_ones.intersection(error.inputs) else alone
        for error, alone, new in zip(design.metric.errors, found, replayed, strict=True)
    )


def matters(group: Group) -> bool:
    """Whether fitting together can change a figure: alone, a number is only cut to its domain."""
    return group.joint is not None or len(group.quantities) > 1


def notes_on(design: Design) -> tuple[str, ...]:
    """What the publisher should know about this design, whichever way it is split."""
    notes = []
    specification = design.specification
    if design.parallel:
        notes.append(
            "Groups that share no record are paid for in parallel: their budgets add up to more than the total, "
            "and no single record costs more than it."
        )
    unstated = dict.fromkeys(part for quantity in design.metric.quantities for part in quantity.unstated)
    if unstated and not specification.pilot:
        notes.append(
            f"Not stated, so assumed: {shortened(list(unstated), 6)}. Errors marked 'assumption' depend on it. State "
            "`expected`, or about: {size: …, mean: …, std: …}."
        )
    if design.repaired:
        said = [
            f"{name} {number(value, 6)} instead of {number(stated, 6)}"
            for name, stated, value in design.repaired
        ]
        notes.append(
            f"Some expected values contradict each other. Planned with the nearest that do not: {shortened(said, 6)}. "
            "Correct `expected` (or `records`), so that tables of the same people add up."
        )
    for m in design.measurements:
        if isinstance(m, JointMeasurement):
            notes.append(
                f"Measured together: {m.name}. {m.count:,} numbers under one budget, from which {len(m.asked):,} that are "
                "asked for are added up, so that they agree."
            )
    for s in specification.statistics:
        if s.table is not None:
            notes.append(
                f"{s.name} is a table of {s.table.cells:,} cells, planned as one statistic and measured by itself: its "
                "totals are those of all other counts of the release."
            )
    summed = sorted(name for name, route in design.routes.items() if route is Route.SUMS)
    if summed:
        notes.append(f"Derived from noisy sums, because that is more accurate here: {shortened(summed, 6)}.")
    return tuple(notes)


# Other values the statistics might have: points of the stated ranges, and guesses that are off.

INNER_POINTS = 8


def possible_truths(design: Design, expectations: Expectations) -> tuple[Metric, ...]:
    """The metric at both ends of all ranges, in their middle, and at Sobol points between."""
    specification = design.specification
    ranged = [(s.name, s.possible) for s in specification.statistics if s.possible is not None]
    if not ranged:
        return ()
    inner = points(len(ranged), 3)[:INNER_POINTS]
    low, alternating = np.zeros(len(ranged)), np.arange(len(ranged)) % 2
    metrics = []
    for place in (low, low + 1, low + 0.5, alternating, 1 - alternating, *inner):
        values = {
            name: possible.lower + float(at) * possible.width
            for (name, possible), at in zip(ranged, place, strict=True)
        }
        metrics.append(metric_at(design, Expectations.of(specification, {**expectations.given, **values})))
    return tuple(metrics)


def wrong_guesses(design: Design, expectations: Expectations, off_by: float) -> tuple[Metric, ...]:
    """The metric when the truth is the guess times or divided by 1 + off_by: all one way, and mixed."""
    specification = design.specification
    names = sorted(expectations.given)
    if not names:
        return ()
    up, mixed = np.ones(len(names)), np.where(np.arange(len(names)) % 2 == 0, 1.0, -1.0)
    metrics = []
    for sign in [up, -up, mixed, -mixed][: 4 if len(names) > 1 else 2]:
        values = {
            name: domain_of(specification, specification[name]).clip(
                expectations.given[name] * (1.0 + off_by) ** direction
            )
            for name, direction in zip(names, sign, strict=True)
        }
        metrics.append(metric_at(design, Expectations.of(specification, values)))
    return tuple(metrics)


# What a wrong guess costs: the plan against the best plan for the truth, at 10, 50 and 100 % off.

OFF_BY = (0.1, 0.5, 1.0)


def guess_losses(design: Design, expectations: Expectations, budgets: Floats) -> tuple[GuessLoss, ...]:
    """Relative excess of the score, mean and worst over several directions of error."""
    losses: list[GuessLoss] = []
    worst = 0.0
    for off_by in OFF_BY:
        excess = [_excess(design, metric, budgets) for metric in wrong_guesses(design, expectations, off_by)]
        if excess:
            # Off by up to 50 % includes off by 10 %: a clamp can make the far end harmless, never the whole way.
            worst = max(worst, *excess)
            losses.append(GuessLoss(off_by, float(np.mean(excess)), worst))
    return tuple(losses)


def _excess(design: Design, truth: Metric, budgets: Floats) -> float:
    best = Problem(truth, design.feasible).descended(budgets, _EXPONENT, tolerance=1e-6, steps=40)
    return max(truth.score(budgets, exponent=_EXPONENT) / best.value - 1.0, 0.0) if best.value > 0 else 0.0
