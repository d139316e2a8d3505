"""The range an expression can take when each name stays in its range (interval arithmetic).

Used to find divisions by something that may be zero, and roots of something that may be negative,
before anything is spent. Interval arithmetic is safe: it may see a danger that is not there (a − a is
not seen to be 0), never the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from coterie.statistics.specification.equations import Expression, Op


@dataclass(frozen=True, slots=True)
class Range:
    lower: float
    upper: float

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def middle(self) -> float:
        return self.lower / 2 + self.upper / 2


ANYTHING = Range(-math.inf, math.inf)


def range_of(expression: Expression, ranges: Mapping[str, Range]) -> Range:
    """The range of the expression; a part that can be undefined counts as ANYTHING."""
    return visit_ranges(expression, ranges, lambda node, arguments: None)


def visit_ranges(
    expression: Expression,
    ranges: Mapping[str, Range],
    visitor: Callable[[Expression, list[Range]], None],
) -> Range:
    """As `range_of`, calling `visitor(node, ranges of its arguments)` on the way up."""
    arguments = [visit_ranges(argument, ranges, visitor) for argument in expression.arguments]
    visitor(expression, arguments)
    return _combine(expression, arguments, ranges)


def _combine(node: Expression, arguments: list[Range], ranges: Mapping[str, Range]) -> Range:
    match node.op:
        case Op.NUMBER:
            return Range(node.number, node.number)
        case Op.NAME:
            return ranges.get(node.name, ANYTHING)
        case Op.ADD:
            return Range(arguments[0].lower + arguments[1].lower, arguments[0].upper + arguments[1].upper)
        case Op.SUBTRACT:
            return Range(arguments[0].lower - arguments[1].upper, arguments[0].upper - arguments[1].lower)
        case Op.MULTIPLY:
            return _product(arguments[0], arguments[1])
        case Op.DIVIDE:
            return ANYTHING if 0.0 in arguments[1] else _product(arguments[0], _inverse(arguments[1]))
        case Op.POWER:
            return _power(arguments[0], node.arguments[1].number)
        case Op.NEGATE:
            return Range(-arguments[0].upper, -arguments[0].lower)
        case Op.SQRT:
            return Range(math.sqrt(max(arguments[0].lower, 0.0)), math.sqrt(max(arguments[0].upper, 0.0)))
        case Op.LOG:
            return Range(_log(arguments[0].lower), _log(arguments[0].upper))
        case Op.EXP:
            return Range(_exp(arguments[0].lower), _exp(arguments[0].upper))
        case Op.ABS:
            largest = max(abs(arguments[0].lower), abs(arguments[0].upper))
            smallest = 0.0 if 0.0 in arguments[0] else min(abs(arguments[0].lower), abs(arguments[0].upper))
            return Range(smallest, largest)
        case Op.MIN:
            return Range(
                min(arguments[0].lower, arguments[1].lower), min(arguments[0].upper, arguments[1].upper)
            )
        case Op.MAX:
            return Range(
                max(arguments[0].lower, arguments[1].lower), max(arguments[0].upper, arguments[1].upper)
            )
        case Op.CLAMP:
            lower, upper = node.arguments[1].number, node.arguments[2].number
            return Range(
                min(max(arguments[0].lower, lower), upper), min(max(arguments[0].upper, lower), upper)
            )
        case Op.AWAY_FROM_ZERO:
            distance = node.arguments[1].number
            if distance > 0:
                return Range(max(arguments[0].lower, distance), max(arguments[0].upper, distance))
            return Range(min(arguments[0].lower, distance), min(arguments[0].upper, distance))


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b  # 0 · ∞ is 0 here: the other factor is finite in fact


def _product(a: Range, b: Range) -> Range:
    corners = [_times(x, y) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return Range(min(corners), max(corners))


def _inverse(a: Range) -> Range:
    return Range(1.0 / a.upper if a.upper else -math.inf, 1.0 / a.lower if a.lower else math.inf)


def _power(base: Range, exponent: float) -> Range:
    if exponent == 0:
        return Range(1.0, 1.0)
    if exponent < 0 and 0.0 in base:
        return ANYTHING
    if exponent != int(exponent) and base.lower < 0:
        return ANYTHING
    ends = [_raise(base.lower, exponent), _raise(base.upper, exponent)]
    if exponent > 0 and exponent % 2 == 0 and 0.0 in base:
        ends.append(0.0)
    return Range(min(ends), max(ends))


def _raise(base: float, exponent: float) -> float:
    try:
        result = base**exponent
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
    return float(result)


def _log(value: float) -> float:
    return -math.inf if value <= 0 else math.log(value)


def _exp(value: float) -> float:
    return math.inf if value > 709 else math.exp(value)
