"""From measurements to a statistic: directly, or from noisy sums. One formula a kind and route.

The sums route measures n, Σ(y−c) and Σ(y−c)² of a group with the public middle c. Their sensitivities do
not grow when the group is small or its size secret, one n serves every statistic of the group, and the
rest is post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie.statistics.prediction import measurement as measured
from coterie.statistics.prediction.measurement import Measurement
from coterie.statistics.prediction.value_grid import ValueGrid
from coterie.statistics.specification.equations import Expression, Op, apply, clamp, name, number
from coterie.statistics.specification.ranges import Range
from coterie.statistics.specification.specification import Route, Specification, Statistic, StatisticKind


@dataclass(frozen=True)
class Derivation:
    """What is measured for a statistic, and the released statistic as an expression of it."""

    measurements: tuple[Measurement, ...]
    expression: Expression


def can_use_sums(statistic: Statistic) -> bool:
    if statistic.kind is StatisticKind.SUM:
        return len(statistic.columns) == 1
    return statistic.kind in (
        StatisticKind.MEAN,
        StatisticKind.VARIANCE,
        StatisticKind.STD,
        StatisticKind.PROPORTION,
    )


def derive(specification: Specification, statistic: Statistic, route: Route) -> Derivation:
    """The measurements and the expression; the expression keeps the statistic in its domain."""
    domain = domain_of(specification, statistic)
    if statistic.kind is StatisticKind.COUNT:
        size, needed = _size(specification, statistic)
        return Derivation(needed, clamp(size, domain.lower, domain.upper))
    if route is Route.SUMS and can_use_sums(statistic):
        inner, needed = _from_sums(specification, statistic)
    else:
        single = _direct(specification, statistic)
        inner, needed = name(single.name), (single,)
    return Derivation(needed, clamp(inner, domain.lower, domain.upper))


def _direct(specification: Specification, statistic: Statistic) -> Measurement:
    where, m = statistic.where, _smallest(specification, statistic)
    if statistic.kind is StatisticKind.PROPORTION:
        assert statistic.that is not None
        return measured.share(where, statistic.that, m)
    domains = tuple(column_grid(specification, column) for column in statistic.columns)
    column = statistic.columns[0]
    match statistic.kind:
        case StatisticKind.SUM:
            return measured.total(where, tuple((c, 0.0) for c in statistic.columns), domains)
        case StatisticKind.MEAN:
            return measured.mean(where, column, domains[0], m)
        case StatisticKind.VARIANCE:
            return measured.variance(where, column, domains[0], max(m, 2))
        case StatisticKind.STD:
            return measured.std(where, column, domains[0], max(m, 2))
    return measured.quantile(where, column, domains[0], statistic.quantile, statistic.candidates)


def _from_sums(
    specification: Specification, statistic: Statistic
) -> tuple[Expression, tuple[Measurement, ...]]:
    raw, needed = _size(specification, statistic)
    m = statistic.at_least or 1
    size = _at_least(raw, m)
    if statistic.kind is StatisticKind.PROPORTION:
        assert statistic.that is not None
        inside = measured.count(statistic.where & statistic.that)
        return apply(Op.DIVIDE, name(inside.name), size), (inside, *needed)
    column = statistic.columns[0]
    domain = column_grid(specification, column)
    centre = domain.middle
    first = measured.total(statistic.where, ((column, centre),), (domain,))
    if statistic.kind is StatisticKind.SUM:
        shifted = apply(Op.MULTIPLY, number(centre), apply(Op.MAX, raw, number(0.0)))
        return apply(Op.ADD, name(first.name), shifted), (first, *needed)
    if statistic.kind is StatisticKind.MEAN:
        return apply(Op.ADD, number(centre), apply(Op.DIVIDE, name(first.name), size)), (first, *needed)
    second = measured.total(statistic.where, ((column, centre), (column, centre)), (domain, domain))
    # s² = (Σ(y−c)² − (Σ(y−c))²/n) / (n − 1)
    square = apply(Op.POWER, name(first.name), number(2.0))
    spread = apply(Op.SUBTRACT, name(second.name), apply(Op.DIVIDE, square, size))
    less_one = apply(Op.SUBTRACT, _at_least(raw, max(m, 2)), number(1.0))
    variance = apply(Op.DIVIDE, spread, less_one)
    if statistic.kind is StatisticKind.STD:
        variance = apply(Op.SQRT, apply(Op.MAX, variance, number(0.0)))
    return variance, (first, second, *needed)


def _size(specification: Specification, statistic: Statistic) -> tuple[Expression, tuple[Measurement, ...]]:
    """The group's size: public when the group is everyone and n is public, else measured."""
    if statistic.where.everyone and specification.size is not None:
        return number(float(specification.size)), ()
    size = measured.count(statistic.where)
    return name(size.name), (size,)


def _at_least(size: Expression, lower: int) -> Expression:
    return size if size.op is Op.NUMBER else apply(Op.MAX, size, number(float(lower)))


def _smallest(specification: Specification, statistic: Statistic) -> int:
    """m: the public size that padded statistics rest on."""
    public = specification.size if statistic.where.everyone else None
    return public or statistic.at_least or 1


def column_range(specification: Specification, column: str) -> Range:
    domain = specification.schema[column].bounds()
    return Range(domain.lower, domain.upper)


def column_grid(specification: Specification, column: str) -> ValueGrid:
    return ValueGrid.of_attribute(specification.schema[column])


def domain_of(specification: Specification, statistic: Statistic) -> Range:
    """Where the statistic can lie at all: released values are kept in it, which costs nothing."""
    most = math.inf if specification.size is None else float(specification.size)
    match statistic.kind:
        case StatisticKind.COUNT:
            return Range(float(statistic.at_least or 0), most)
        case StatisticKind.PROPORTION:
            return Range(0.0, 1.0)
        case StatisticKind.SUM:
            domains = tuple(column_range(specification, column) for column in statistic.columns)
            term = measured.product_range(tuple((c, 0.0) for c in statistic.columns), domains)
            lower = most * term.lower if term.lower < 0 else 0.0
            upper = most * term.upper if term.upper > 0 else 0.0
            return Range(lower, upper)
    domain = column_range(specification, statistic.columns[0])
    if statistic.kind in (StatisticKind.VARIANCE, StatisticKind.STD):
        m = max(statistic.at_least or 2, 2)
        largest = domain.width**2 / 4.0 * m / (m - 1)
        return Range(0.0, largest if statistic.kind is StatisticKind.VARIANCE else math.sqrt(largest))
    return domain
