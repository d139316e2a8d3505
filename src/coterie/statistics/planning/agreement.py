"""Which statistics must be computed from the same sums, because readers can compute one of them from the others.

A mean that is measured by itself would contradict the sum and the count beside it, or the means of the parts of its group.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from coterie.statistics.prediction.derivation import can_use_sums
from coterie.statistics.specification.filters import Between, Condition, Filter, OneOf, atoms
from coterie.statistics.specification.specification import Route, Specification, Statistic, StatisticKind

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
