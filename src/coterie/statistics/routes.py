"""Direct noise or sums? Tried both ways and the better one kept, group by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coterie.errors import ParameterError
from coterie.statistics.allocators import gradient, square_root
from coterie.statistics.allocators.allocator import Problem
from coterie.statistics.derivation import can_use_sums
from coterie.statistics.design import Design
from coterie.statistics.optimise import minimise
from coterie.statistics.specification import Route, Specification

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
    for route in (Route.SUMS, Route.DIRECT):
        candidate = {**fixed, **{s.name: route for s in free}}
        try:
            score = _quick_score(build(candidate))
        except ParameterError as error:  # more measurements may not fit above the floors
            problem = error
            continue
        if score < best_score:
            best, best_score = candidate, score
    if not best:
        assert problem is not None
        raise problem
    if 1 < len(groups) <= MOST_GROUPS_TRIED_ALONE:
        for names in groups.values():
            other = Route.DIRECT if best[names[0]] is Route.SUMS else Route.SUMS
            candidate = {**best, **dict.fromkeys(names, other)}
            try:
                score = _quick_score(build(candidate))
            except ParameterError:
                continue
            if score < best_score * (1 - 1e-6):
                best, best_score = candidate, score
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
