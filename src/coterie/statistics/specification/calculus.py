"""An equation evaluated: its value over many draws, its slopes, the range it can take, its linear form.

Each table has one line per operation. At a kink (abs, min, max, a clamp) the slope is that of the side the draw is on;
kinks have probability zero under noise with a density, so the expectation's gradient is exact.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.specification.equations import Expression, Op, rebuild, walk

_VALUE: Mapping[Op, Callable[..., Any]] = {
    Op.ADD: operator.add,
    Op.SUBTRACT: operator.sub,
    Op.MULTIPLY: operator.mul,
    Op.DIVIDE: operator.truediv,
    Op.POWER: lambda a, p: a * a if p == 2 else np.power(a, p),
    Op.NEGATE: operator.neg,
    Op.SQRT: np.sqrt,
    Op.LOG: np.log,
    Op.EXP: np.exp,
    Op.ABS: np.abs,
    Op.MIN: np.minimum,
    Op.MAX: np.maximum,
    Op.CLAMP: lambda a, lower, upper: np.minimum(np.maximum(a, lower), upper),
    Op.AWAY_FROM_ZERO: lambda a, d: np.where(d > 0, np.maximum(a, d), np.minimum(a, d)),
}
_NONE, _ONE = 0.0, 1.0  # no slope yet, and one that changes nothing: no pass over the draws
# ∂result/∂argument for each argument, from the result r and the arguments; None where an argument is a constant.
_SLOPES: Mapping[Op, Callable[..., tuple[Any, ...]]] = {
    Op.ADD: lambda r, a, b: (_ONE, _ONE),
    Op.SUBTRACT: lambda r, a, b: (_ONE, -1.0),
    Op.MULTIPLY: lambda r, a, b: (b, a),
    Op.DIVIDE: lambda r, a, b: (1.0 / b, -r / b),
    Op.POWER: lambda r, a, p: (2.0 * a if p == 2 else p * np.power(a, p - 1.0), None),
    Op.NEGATE: lambda r, a: (-1.0,),
    # At a clamped zero the square root has no slope; the clamp below it passes nothing on anyway.
    Op.SQRT: lambda r, a: (np.where(r > 0, 0.5 / np.where(r > 0, r, 1.0), 0.0),),
    Op.LOG: lambda r, a: (1.0 / a,),
    Op.EXP: lambda r, a: (r,),
    Op.ABS: lambda r, a: (np.sign(a),),
    Op.MIN: lambda r, a, b: (np.where(a <= b, 1.0, 0.0), np.where(a > b, 1.0, 0.0)),
    Op.MAX: lambda r, a, b: (np.where(a >= b, 1.0, 0.0), np.where(a < b, 1.0, 0.0)),
    Op.CLAMP: lambda r, a, lower, upper: (np.where((a >= lower) & (a <= upper), 1.0, 0.0), None, None),
    Op.AWAY_FROM_ZERO: lambda r, a, d: (np.where(a == r, 1.0, 0.0), None),
}


@dataclass(frozen=True, slots=True)
class Tape:
    """The distinct nodes of an expression in an order in which each can be computed."""

    nodes: tuple[Expression, ...]
    inputs: tuple[tuple[int, ...], ...]

    @staticmethod
    @lru_cache(maxsize=4096)  # a plan tries several designs of the same equations
    def of(expression: Expression) -> Tape:
        place: dict[Expression, int] = {}
        for node in walk(expression):
            place.setdefault(node, len(place))
        nodes = tuple(place)
        return Tape(nodes, tuple(tuple(place[argument] for argument in node.arguments) for node in nodes))

    def run(self, values: Mapping[str, Floats]) -> list[Floats]:
        """The value of every node; the last is the equation's."""
        results: list[Any] = []
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for node, inputs in zip(self.nodes, self.inputs, strict=True):
                if node.op is Op.NUMBER:
                    results.append(np.float64(node.number))
                elif node.op is Op.NAME:
                    results.append(values[node.name])
                else:
                    results.append(_VALUE[node.op](*(results[index] for index in inputs)))
        return results

    def value(self, values: Mapping[str, Floats]) -> Floats:
        return self.run(values)[-1]

    def gradient(self, results: list[Floats], seed: Floats, names: Collection[str]) -> dict[str, Floats]:
        """seed · ∂(equation)/∂name for these names, draw by draw, from the results of `run`."""
        moves: list[bool] = []  # does a node change when these names do? Slopes of all others lead nowhere
        for node, inputs in zip(self.nodes, self.inputs, strict=True):
            moves.append(node.name in names if node.op is Op.NAME else any(moves[place] for place in inputs))
        carried: list[Any] = [_NONE] * len(self.nodes)
        carried[-1] = seed
        gradients = {}
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for index in range(len(self.nodes) - 1, -1, -1):
                node, inputs, flow = self.nodes[index], self.inputs[index], carried[index]
                if node.op is Op.NAME and moves[index]:
                    gradients[node.name] = np.asarray(flow, dtype=np.float64)
                elif moves[index]:
                    slopes = _SLOPES[node.op](results[index], *(results[place] for place in inputs))
                    for place, slope in zip(inputs, slopes, strict=True):
                        if slope is not None and moves[place]:
                            part = flow if slope is _ONE else flow * slope
                            carried[place] = part if carried[place] is _NONE else carried[place] + part
        return gradients


# The range of an expression when each name stays in its range (interval arithmetic): it finds divisions by something
# that may be zero, and roots of something that may be negative, before anything is spent. It is safe: it may see a danger
# that is not there (a − a is not seen to be 0), never the other way round.


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

    def clip(self, value: float) -> float:
        return min(max(value, self.lower), self.upper)

    def times(self, other: Range) -> Range:
        # 0 · ∞ is 0 here: the other factor is finite in fact.
        ends = [
            a * b if a and b else 0.0 for a in (self.lower, self.upper) for b in (other.lower, other.upper)
        ]
        return Range(min(ends), max(ends))

    def power(self, exponent: float) -> Range:
        if exponent == 0:
            return Range(1.0, 1.0)
        if (exponent < 0 and 0.0 in self) or (exponent != int(exponent) and self.lower < 0):
            return ANYTHING
        ends = [_raised(self.lower, exponent), _raised(self.upper, exponent)]
        if exponent > 0 and exponent % 2 == 0 and 0.0 in self:
            ends.append(0.0)
        return Range(min(ends), max(ends))


ANYTHING = Range(-math.inf, math.inf)
# Operations that never fall in any argument: their ends come from the ends of the arguments.
_RISING: Mapping[Op, Callable[..., float]] = {
    Op.ADD: operator.add,
    Op.SQRT: lambda a: math.sqrt(max(a, 0.0)),
    Op.LOG: lambda a: -math.inf if a <= 0 else math.log(a),
    Op.EXP: lambda a: math.inf if a > 709 else math.exp(a),
    Op.MIN: min,
    Op.MAX: max,
    Op.CLAMP: lambda a, lower, upper: min(max(a, lower), upper),
    Op.AWAY_FROM_ZERO: lambda a, d: max(a, d) if d > 0 else min(a, d),
}


def range_of(expression: Expression, ranges: Mapping[str, Range]) -> Range:
    """The range of the expression; a part that can be undefined counts as ANYTHING."""
    arguments = [range_of(argument, ranges) for argument in expression.arguments]
    match expression.op:
        case Op.NUMBER:
            return Range(expression.number, expression.number)
        case Op.NAME:
            return ranges.get(expression.name, ANYTHING)
        case Op.SUBTRACT:
            left, right = arguments
            return Range(left.lower - right.upper, left.upper - right.lower)
        case Op.MULTIPLY:
            return arguments[0].times(arguments[1])
        case Op.DIVIDE:
            left, right = arguments
            return ANYTHING if 0.0 in right else left.times(Range(1.0 / right.upper, 1.0 / right.lower))
        case Op.POWER:
            return arguments[0].power(expression.arguments[1].number)
        case Op.NEGATE:
            return Range(-arguments[0].upper, -arguments[0].lower)
        case Op.ABS:
            ends = sorted((abs(arguments[0].lower), abs(arguments[0].upper)))
            return Range(0.0 if 0.0 in arguments[0] else ends[0], ends[1])
    rising = _RISING[expression.op]
    return Range(rising(*(a.lower for a in arguments)), rising(*(a.upper for a in arguments)))


def _raised(base: float, exponent: float) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf


# Equations that are linear in the quantities, or a ratio of two that are: their errors have a closed form.


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + Σ coefficient · name, each name clamped to its limits first.

    Clamps of single quantities to their domain are looked through, and remembered here: a closed form holds as long as
    they practically never act.
    """

    constant: float
    coefficients: Mapping[str, float]
    limits: Mapping[str, tuple[float, float]]

    def weights(self, names: Sequence[str]) -> NDArray[np.float64]:
        return np.array([self.coefficients.get(name, 0.0) for name in names])

    def sides(self, name: str, value: float) -> tuple[float, float]:
        """How far the value is from its lower and its upper clamp."""
        lower, upper = self.limits.get(name, (-math.inf, math.inf))
        return max(value - lower, 0.0), max(upper - value, 0.0)

    def times(self, factor: float) -> Linear:
        scaled = {name: factor * weight for name, weight in self.coefficients.items()}
        return Linear(factor * self.constant, scaled, self.limits)

    def plus(self, other: Linear, factor: float) -> Linear | None:
        """self + factor·other; None where the two clamp a name differently."""
        shared = set(self.coefficients) & set(other.coefficients)
        if any(self.limits.get(name) != other.limits.get(name) for name in shared):
            return None
        sums = dict(self.coefficients)
        for name, weight in other.coefficients.items():
            sums[name] = sums.get(name, 0.0) + factor * weight
        return Linear(self.constant + factor * other.constant, sums, {**self.limits, **other.limits})

    def clamped(self, lower: float, upper: float) -> Linear | None:
        """Put a clamp around one name, or around c·name + d, which moves the limits."""
        if len(self.coefficients) != 1 or self.limits:
            return None
        ((name, factor),) = self.coefficients.items()
        if factor == 0:
            return None
        ends = sorted((limit - self.constant) / factor for limit in (lower, upper))
        return Linear(self.constant, self.coefficients, {name: (ends[0], ends[1])})


def linear_form(expression: Expression) -> Linear | None:
    """The linear form of an expression, or None if it has none."""
    forms = [form for form in map(linear_form, expression.arguments) if form is not None]
    if len(forms) < len(expression.arguments):
        return None
    match expression.op:
        case Op.NUMBER:
            return Linear(expression.number, {}, {})
        case Op.NAME:
            return Linear(0.0, {expression.name: 1.0}, {})
        case Op.CLAMP:
            return forms[0].clamped(forms[1].constant, forms[2].constant)
        case Op.NEGATE:
            return forms[0].times(-1.0)
        case Op.ADD | Op.SUBTRACT:
            return forms[0].plus(forms[1], 1.0 if expression.op is Op.ADD else -1.0)
        case Op.MULTIPLY:
            for one, other in (forms, forms[::-1]):
                if not one.coefficients:
                    return other.times(one.constant)
        case Op.DIVIDE:
            if not forms[1].coefficients and forms[1].constant != 0:
                return forms[0].times(1.0 / forms[1].constant)
    return None


@lru_cache(maxsize=4096)
def ratio_form(expression: Expression) -> tuple[Linear, Linear] | None:
    """(top, bottom) with expression = top / bottom on the true values, or None. Linear ones have bottom 1.

    Looked through are bounds that the truth keeps anyway: the domains of statistics, a group's public least size, the
    distance of a denominator from zero. What the analyst's own formula cuts off is kept.
    """
    return _ratio(rebuild(expression, _unbounded))


def _unbounded(node: Expression) -> Expression:
    first = node.arguments[0] if node.arguments else node
    # Only statistics put a maximum around a bare measurement; formulas see statistics, which are clamped.
    least_size = node.op is Op.MAX and first.op is Op.NAME and node.arguments[1].op is Op.NUMBER
    return first if node.op in (Op.CLAMP, Op.AWAY_FROM_ZERO) or least_size else node


def _ratio(node: Expression) -> tuple[Linear, Linear] | None:
    linear = linear_form(node)
    if linear is not None:
        return linear, Linear(1.0, {}, {})
    parts = [part for part in map(_ratio, node.arguments) if part is not None]
    if len(parts) != 2:
        return None
    (top, bottom), (other_top, other_bottom) = parts
    if node.op is Op.DIVIDE:
        # (a/b) / (c/d) is a ratio of linear forms only if the inner divisors are numbers.
        return None if bottom.coefficients or other_bottom.coefficients else (top, other_top)
    if node.op not in (Op.ADD, Op.SUBTRACT, Op.MULTIPLY):
        return None
    if not top.coefficients and not bottom.coefficients:  # the number stands first
        sign = -1.0 if node.op is Op.SUBTRACT else 1.0
        (top, bottom), number = (other_top.times(sign), other_bottom), top.constant
    elif not other_top.coefficients and not other_bottom.coefficients:
        number = -other_top.constant if node.op is Op.SUBTRACT else other_top.constant
    else:
        return None
    if node.op is Op.MULTIPLY:
        return top.times(number), bottom
    moved = top.plus(bottom, number)
    return None if moved is None else (moved, bottom)
