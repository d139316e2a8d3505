"""What is measured for this specification: directly or through sums, as asked or by a strategy. Never looks at the data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Problem
from coterie.statistics.allocators.searches import MANY_TARGETS, first_order
from coterie.statistics.planning.composition import Feasible, separable_optimum
from coterie.statistics.planning.design import Design
from coterie.statistics.planning.strategy import (
    EVERY_CELL,
    Key,
    Strategy,
    columns_of,
    group_asked,
    on_grid,
    strategies,
)
from coterie.statistics.prediction.derivation import can_use_sums
from coterie.statistics.prediction.joint import inverse_of, spread_of
from coterie.statistics.prediction.reconstruction import MOST_WEIGHTS, Group
from coterie.statistics.specification.cells import atoms
from coterie.statistics.specification.filters import Between, Condition, Filter, OneOf
from coterie.statistics.specification.specification import (
    Route,
    Specification,
    Statistic,
    StatisticKind,
)

# Which statistics must be computed from the same sums, because readers can compute one of them from the others.
#
# A mean that is measured by itself would contradict the sum and the count beside it, or the means of the parts of its group.

_MEANS = (StatisticKind.SUM, StatisticKind.MEAN)
_SPREADS = (StatisticKind.VARIANCE, StatisticKind.STD)


def from_same_sums(specification: Specification) -> set[str]:
    """The names of statistics that have a choice of route, and must not be measured by themselves."""
    free = [s for s in specification.statistics if can_use_sums(s) and not s.weighted_by]
    derived = [s for s in specification.statistics if s.kind.of_two_columns]
    counted = {s.where for s in specification.statistics if s.kind is StatisticKind.COUNT}
    found: set[str] = set()
    for alike in _families(free):
        for one, other in itertools.combinations(alike, 2):
            if not (one.name in found and other.name in found) and not apart(one.where, other.where):
                found |= {one.name, other.name}
        for one in alike:
            if one.kind is StatisticKind.PROPORTION:
                bound = one.counted in counted
            else:
                bound = any(
                    one.columns[0] in two.columns and not apart(one.where, two.where) for two in derived
                )
            if bound:
                found.add(one.name)
    return {name for name in found if specification[name].route is Route.AUTO}


def _families(free: list[Statistic]) -> Iterator[list[Statistic]]:
    """Statistics that can be computed from each other where their groups overlap."""
    keyed: dict[object, list[Statistic]] = {}
    for s in free:
        if s.kind is StatisticKind.PROPORTION:
            keyed.setdefault("proportions", []).append(s)
        elif s.kind in _SPREADS or (s.kind in _MEANS and len(s.columns) == 1):
            keyed.setdefault((s.columns, s.kind in _MEANS), []).append(s)
    return iter(keyed.values())


def apart(one: Filter, other: Filter) -> bool:
    """Whether what they say of some column excludes each other."""
    theirs = dict(other.conditions)
    return any(
        column in theirs and condition != theirs[column] and not _meet(condition, theirs[column])
        for column, condition in one.conditions
    )


def _meet(one: Condition, other: Condition) -> bool:
    if isinstance(one, OneOf) and isinstance(other, OneOf):
        return not set(one.values).isdisjoint(other.values)
    if isinstance(one, Between) and isinstance(other, Between):
        return one.start < other.below and other.start < one.below
    return any(all(accepted) for accepted in atoms([one, other]))


MOST_GROUPS_TRIED_ALONE = 12
MOST_SINGLES = 64  # numbers that get a budget each; more are measured together
Build = Callable[[Mapping[str, Route], Mapping[Key, Strategy] | Strategy], Design]


def choose_routes(specification: Specification, build: Build) -> dict[str, Route]:
    """The route of each statistic that has a choice. Uses expected values only, never the data.

    All direct and all from sums are compared first; then each group and column is switched alone, and the
    switch is kept if the best split of the whole gets better. What the specification fixes stays; what readers can compute
    from other statistics comes from the same sums as these.
    """
    same = from_same_sums(specification)
    try:
        return _chosen_routes(specification, build, same)
    except ParameterError:  # more measurements may not fit above the floors
        if not same:
            raise
        return _chosen_routes(specification, build, set())


def _chosen_routes(specification: Specification, build: Build, same: set[str]) -> dict[str, Route]:
    fixed: dict[str, Route] = {s.name: s.route for s in specification.statistics if s.route is not Route.AUTO}
    fixed |= dict.fromkeys(sorted(same), Route.SUMS)
    free = [s for s in specification.statistics if can_use_sums(s) and s.name not in fixed]
    if not free:
        if same:
            build(fixed, _start(specification))  # or it does not fit
        return fixed
    groups: dict[object, list[str]] = {}
    for statistic in free:
        groups.setdefault((statistic.where, statistic.columns, statistic.that), []).append(statistic.name)
    best: dict[str, Route] = {}
    best_score = float("inf")
    problem: ParameterError | None = None
    measured = _start(specification)

    def tried(candidate: dict[str, Route], margin: float = 0.0) -> None:
        nonlocal best, best_score, problem
        try:
            score = _quick_score(build(candidate, measured))
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


def _start(specification: Specification) -> Mapping[Key, Strategy] | Strategy:
    """What designs are first compared with: as asked, or every cell where that is more than can have a budget each."""
    return {} if len(specification.statistics) <= MOST_SINGLES else EVERY_CELL


def _quick_score(design: Design) -> float:
    problem = Problem(design.metric, design.feasible)
    steps = 25 if len(design.metric.targets) <= MANY_TARGETS else 6
    return problem.descended(first_order(problem), 8, tolerance=1e-3, steps=steps).value


def best_design(specification: Specification, build: Build) -> Design:
    """The design with the least predicted score: routes, strategies for them, and sums where a strategy makes them pay."""
    routes = choose_routes(specification, build)
    chosen = build(routes, choose_strategies(specification, routes, build))
    free = [s.name for s in specification.statistics if s.route is Route.AUTO and can_use_sums(s)]
    summed = {**routes, **dict.fromkeys(free, Route.SUMS)}
    if summed == routes:
        return chosen
    try:
        strategies_of_sums = choose_strategies(specification, summed, build)
        other = build(summed, strategies_of_sums)
        better = bool(strategies_of_sums) and _quick_score(other) < (1 - _BETTER) * _quick_score(chosen)
    except ParameterError:  # more measurements may not fit above the floors
        return chosen
    return other if better else chosen


# --- strategies ---------------------------------------------------------------------------------------------------

_MOST_SPLIT = 100_000  # rows × cells of what is asked, where each row's part is searched for
_BETTER = 0.02  # a strategy must promise this much more than what is asked, measured as it is


def choose_strategies(
    specification: Specification, routes: Mapping[str, Route], build: Build
) -> dict[Key, Strategy]:
    """What to measure for each group of counts or sums, where that promises smaller errors than asking as given."""
    base = build(routes, _start(specification))
    zcdp = specification.budget.zcdp
    asked = base.asked
    grouped = group_asked(specification, asked).items()
    keys = {frozenset(asked[place].name for place in places): key for key, (places, _) in grouped}
    best: dict[Key, Strategy] = {}
    for group in base.groups:
        if len(group.quantities) > 1:
            best[keys[frozenset(group.names)]] = _best_strategy(base, group, zcdp)
    if not best:
        return {}
    if _start(specification) is EVERY_CELL or len(base.measurements) > MOST_SINGLES:
        return best
    score, chosen = _quick_score(base), dict[Key, Strategy]()
    whole = _quick_score(build(routes, best))
    if whole < score * (1 - _BETTER):
        score, chosen = whole, best
    if 1 < len(best) <= MOST_GROUPS_TRIED_ALONE:
        for key, strategy in best.items():
            other = (
                {k: s for k, s in chosen.items() if k != key} if key in chosen else {**chosen, key: strategy}
            )
            found = _quick_score(build(routes, other))
            if found < score * (1 - _BETTER):
                score, chosen = found, other
    return chosen


def _best_strategy(base: Design, group: Group, gaussian: bool) -> Strategy:
    """The least weighted sum of standard deviations: every cell first, whose errors then weigh the search for others."""
    wanted, shares = _linear_targets(base, group)
    first = np.sqrt((wanted**2).sum(axis=1))
    seen = first > 0
    if not seen.any():  # no target moves with them to first order, so each counts alike
        wanted = np.unique(group.held, axis=0).astype(np.float64)
        shares, first = np.ones(len(wanted)), np.sqrt(wanted.sum(axis=1))
        seen = first > 0
    wanted, shares, first = wanted[seen], shares[seen], first[seen]
    candidates = [*strategies(group.cells, wanted, shares / first, gaussian)]
    rows = np.unique(group.held, axis=0)
    rows = rows[rows.any(axis=1)]
    if rows.size <= MOST_WEIGHTS:
        candidates.append(Strategy("as asked", rows.astype(np.int64)))
    if rows.size <= _MOST_SPLIT:
        candidates.append(on_grid("as asked, each with its part", _parts(rows, wanted, shares, gaussian)))
    costs = {one.name: _sum_of_errors(one, wanted, shares, gaussian) for one in candidates}
    best = min(candidates, key=lambda one: costs[one.name])
    return replace(best, tried={name: cost / costs[best.name] for name, cost in costs.items()})


def _parts(rows: NDArray[np.bool_], wanted: Floats, shares: Floats, gaussian: bool) -> Floats:
    """What is asked, with weights as if each had its own budget: the best split by what the targets take from each."""
    held = rows.astype(np.float64)
    taken = shares @ np.abs(wanted @ inverse_of(held))
    feasible = Feasible(np.unique(held.T, axis=0), 1.0, np.full(len(held), 1e-3 / len(held)))
    power = 2.0 if gaussian else 1.0
    parts = separable_optimum(np.maximum(taken, 1e-9 * taken.max()), feasible, np.full(len(held), power))
    return held * (np.sqrt(parts) if gaussian else parts)[:, None]


def _linear_targets(base: Design, group: Group) -> tuple[Floats, Floats]:
    """Targets to first order as weights over the cells of a group, and how much each counts."""
    from scipy.sparse import csr_array

    problem = Problem(base.metric, base.feasible)
    place = {base.metric.quantities[q].name: index for index, q in enumerate(group.quantities)}
    slopes, places, starts, shares = list[float](), list[int](), [0], list[float]()
    for error, share in zip(base.metric.errors, base.metric.shares, strict=True):
        if share > 0 and not place.keys().isdisjoint(error.names):
            found = [
                (name, slope) for name, slope in problem.slope_by_name(error.target).items() if name in place
            ]
            slopes += [slope for _, slope in found]
            places += [place[name] for name, _ in found]
            starts.append(len(places))
            shares.append(share)
    by_quantity = csr_array((slopes, places, starts), shape=(len(shares), len(place)))
    return np.asarray(by_quantity @ group.held.astype(np.float64)), np.array(shares)


def _sum_of_errors(strategy: Strategy, wanted: Floats, shares: Floats, gaussian: bool) -> float:
    if strategy.rows is None:
        return float(shares @ np.sqrt((wanted**2).sum(axis=1)))
    rows = strategy.rows / strategy.grid
    largest = float(columns_of(rows, gaussian).max())
    found = spread_of(rows, wanted)
    return float("inf") if found is None else float(shares @ found) * (largest**0.5 if gaussian else largest)
