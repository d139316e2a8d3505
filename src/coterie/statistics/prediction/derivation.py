"""From measurements to a statistic, directly or from noisy sums; equations guarded; and the units of their errors.

The sums route measures n, Σ(y−c) and Σ(y−c)² of a group with the public middle c. Their sensitivities do
not grow when the group is small or its size secret, one n serves every statistic of the group, and the
rest is post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from coterie.errors import ParameterError
from coterie.statistics.prediction import measurement as measured
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.value_grid import ValueGrid
from coterie.statistics.specification.calculus import Range, Tape, range_of
from coterie.statistics.specification.equations import Expression, Op, apply, clamp, name, names_in, number
from coterie.statistics.specification.specification import (
    Equation,
    RelativeTo,
    Route,
    Specification,
    Statistic,
    StatisticKind,
)

Derivation = tuple[Expression, tuple[Measurement, ...]]  # a released statistic, and what is measured for it


def can_use_sums(statistic: Statistic) -> bool:
    return statistic.kind in (
        StatisticKind.SUM,
        StatisticKind.MEAN,
        StatisticKind.VARIANCE,
        StatisticKind.STD,
        StatisticKind.PROPORTION,
    )


def derive(specification: Specification, statistic: Statistic, route: Route) -> Derivation:
    """The expression, which keeps the statistic in its domain, and its measurements."""
    domain = domain_of(specification, statistic)
    if statistic.kind is StatisticKind.COUNT:
        inner, needed = _size(specification, statistic)
    elif route is Route.SUMS and can_use_sums(statistic):
        inner, needed = _from_sums(specification, statistic)
    else:
        single = _direct(specification, statistic)
        inner, needed = name(single.name), (single,)
    rows = specification.rows_per_unit
    if rows > 1:
        needed = tuple(replace(m, bound=m.bound.for_unit(rows)) for m in needed)
    return clamp(inner, domain.lower, domain.upper), needed


def _direct(specification: Specification, statistic: Statistic) -> Measurement:
    where, m = statistic.where, _smallest(specification, statistic)
    if statistic.kind is StatisticKind.PROPORTION:
        assert statistic.that is not None
        return measured.share(where, statistic.that, m)
    domains = tuple(ValueGrid.of_attribute(specification.schema[column]) for column in statistic.columns)
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


def _from_sums(specification: Specification, statistic: Statistic) -> Derivation:
    raw, needed = _size(specification, statistic)
    m = statistic.at_least or 1
    size = _at_least(raw, m)
    if statistic.kind is StatisticKind.PROPORTION:
        assert statistic.that is not None
        inside = measured.count(statistic.where & statistic.that)
        return apply(Op.DIVIDE, name(inside.name), size), (inside, *needed)
    column = statistic.columns[0]
    domain = ValueGrid.of_attribute(specification.schema[column])
    centre = domain.middle
    first = measured.total(statistic.where, ((column, centre),), (domain,))
    if statistic.kind is StatisticKind.SUM:
        known = apply(Op.MAX, raw, number(0.0))
        if len(statistic.columns) == 2:
            return _centred_product(specification, statistic, first, known, needed)
        shifted = apply(Op.MULTIPLY, number(centre), known)
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


def _centred_product(
    specification: Specification,
    statistic: Statistic,
    first: Measurement,
    size: Expression,
    needed: tuple[Measurement, ...],
) -> Derivation:
    """Σxy = Σ(x−a)(y−b) + bΣ(x−a) + aΣ(y−b) + abn: products of centred values are a quarter as large."""
    domains = tuple(ValueGrid.of_attribute(specification.schema[column]) for column in statistic.columns)
    (x, y), (a, b) = statistic.columns, (domain.middle for domain in domains)
    both = measured.total(statistic.where, ((x, a), (y, b)), domains)
    second = first if x == y else measured.total(statistic.where, ((y, b),), domains[1:])
    terms = [(b, name(first.name)), (a, name(second.name)), (a * b, size)]
    found = name(both.name)
    for factor, term in terms:
        found = apply(Op.ADD, found, apply(Op.MULTIPLY, number(factor), term))
    return found, tuple(dict.fromkeys((both, first, second, *needed)))


def _size(specification: Specification, statistic: Statistic) -> Derivation:
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


def domain_of(specification: Specification, statistic: Statistic) -> Range:
    """Where the statistic can lie at all: released values are kept in it, which costs nothing."""
    most = math.inf if specification.size is None else float(specification.size)
    match statistic.kind:
        case StatisticKind.COUNT:
            return Range(float(statistic.at_least or 0), most)
        case StatisticKind.PROPORTION:
            return Range(0.0, 1.0)
        case StatisticKind.SUM:
            first, *second = (specification.range_of(column) for column in statistic.columns)
            squared = len(set(statistic.columns)) < len(statistic.columns)
            term = first.power(2) if squared else first.times(second[0]) if second else first
            lower = most * term.lower if term.lower < 0 else 0.0
            upper = most * term.upper if term.upper > 0 else 0.0
            return Range(lower, upper)
    domain = specification.range_of(statistic.columns[0])
    if statistic.kind in (StatisticKind.VARIANCE, StatisticKind.STD):
        m = max(statistic.at_least or 2, 2)
        largest = domain.width**2 / 4.0 * m / (m - 1)
        return Range(0.0, largest if statistic.kind is StatisticKind.VARIANCE else math.sqrt(largest))
    return domain


# Keep equations away from division by zero and roots of negative numbers, and say so.
#
# The expected absolute error of a ratio is infinite as long as its noisy denominator can come arbitrarily
# near zero: that is the source of the spikes in Nunes 2024's figures. So a denominator that can reach zero is held
# at a small public distance from it, on the side where it is expected; this is post-processing and costs
# nothing. What cannot be cured that way is refused.

DEFAULT_DISTANCE = 0.01  # of the denominator's expected size


def guard(
    equation: Equation, ranges: Mapping[str, Range], expected: Mapping[str, float], warnings: list[str]
) -> Expression:
    """The equation with every dangerous denominator or logarithm held away from zero; `warnings` says which."""

    def visit(node: Expression) -> Expression:
        arguments = tuple(visit(argument) for argument in node.arguments)
        rebuilt = Expression(node.op, arguments, node.number, node.name)
        match node.op:
            case Op.DIVIDE:
                if 0.0 in range_of(arguments[1], ranges):
                    return apply(Op.DIVIDE, arguments[0], away(arguments[1], "divides by", node.arguments[1]))
            case Op.LOG:
                inside = range_of(arguments[0], ranges)
                if inside.lower < 0:
                    raise _refused(equation, "logarithm", node.arguments[0])
                if inside.lower == 0:
                    return apply(Op.LOG, away(arguments[0], "takes the logarithm of", node.arguments[0]))
            case Op.SQRT:
                if range_of(arguments[0], ranges).lower < 0:
                    raise _refused(equation, "square root", node.arguments[0])
            case Op.POWER:
                exponent, inside = node.arguments[1].number, range_of(arguments[0], ranges)
                if exponent != int(exponent) and inside.lower < 0:
                    raise _refused(equation, "broken power", node.arguments[0])
                if exponent < 0 and 0.0 in inside:
                    return apply(Op.POWER, away(arguments[0], "divides by", node.arguments[0]), arguments[1])
        return rebuilt

    def away(what: Expression, verb: str, written: Expression) -> Expression:
        centre = float(Tape.of(what).value({key: np.float64(value) for key, value in expected.items()}))  # type: ignore[misc]
        distance = equation.guard if equation.guard is not None else DEFAULT_DISTANCE * abs(centre)
        if not math.isfinite(centre) or distance <= 0 or not math.isfinite(distance):
            raise ParameterError(
                f"Equation '{equation.name}' {verb} '{written}', which is expected to be zero or undefined.",
                "Give its statistics `expected` values away from that, or the equation a `guard`.",
            )
        signed = math.copysign(distance, centre)
        side = "below" if signed > 0 else "above"
        warnings.append(
            f"Equation '{equation.name}' {verb} '{written}', whose domain includes 0: values {side} {signed:.4g} "
            f"are taken as {signed:.4g} (set `guard` to choose another distance)."
        )
        return apply(Op.AWAY_FROM_ZERO, what, number(signed))

    return visit(equation.expression)


def _refused(equation: Equation, what: str, inside: Expression) -> ParameterError:
    return ParameterError(
        f"Equation '{equation.name}' takes the {what} of '{inside}', which can be negative.",
        f"Write max({inside}, 0) inside it if zero is what a negative value means, or use other statistics.",
    )


# What an error is measured against, so that a count and an income can stand in one score (Nunes 2024, end of §5.3).

# An equation expected near zero is still measured against this part of the terms it is made of.
_SMALLEST_PART = 0.05


def unit_of_statistic(
    specification: Specification, statistic: Statistic, expected: float, domain: Range
) -> float:
    if specification.relative_to is RelativeTo.NOTHING:
        return 1.0
    if specification.relative_to is RelativeTo.SENSITIVITY:
        return _sensitivity(specification, statistic)
    if statistic.tolerance is not None:
        return statistic.tolerance
    if expected != 0:
        return abs(expected)
    return domain.width if math.isfinite(domain.width) and domain.width > 0 else 1.0


def unit_of_equation(
    specification: Specification, equation: Equation, expression: Expression, expected: Mapping[str, float]
) -> float:
    """The tolerance, or the expected size; or what the equation's own sensitivity would be to first order."""
    if specification.relative_to is RelativeTo.NOTHING:
        return 1.0
    if specification.relative_to is RelativeTo.SCALE and equation.tolerance is not None:
        return equation.tolerance
    tape = Tape.of(expression)
    names = names_in(expression)
    results = tape.run({name: np.asarray(expected[name]) for name in names})
    slopes = tape.gradient(results, np.asarray(1.0), names)
    if specification.relative_to is RelativeTo.SENSITIVITY:
        parts = [abs(float(s)) * _sensitivity(specification, specification[n]) for n, s in slopes.items()]
        size = sum(parts)
    else:
        terms = sum(abs(float(slope) * expected[name]) for name, slope in slopes.items())
        size = max(abs(float(results[-1])), _SMALLEST_PART * terms)
    return size if size > 0 and math.isfinite(size) else 1.0


def _sensitivity(specification: Specification, statistic: Statistic) -> float:
    _, measured = derive(specification, statistic, Route.DIRECT)
    if not measured or measured[0].kind is Kind.QUANTILE:
        return 1.0
    return measured[0].bound.nominal(specification.neighbours, measured[0].where.everyone)
