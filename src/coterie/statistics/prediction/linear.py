"""Equations that are linear in the quantities, or a ratio of two that are: their errors have a closed form.

Clamps of single quantities to their domain are looked through, and remembered: the closed form holds as
long as they practically never act."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.specification.equations import Expression, Op, rebuild


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + Σ coefficient · name, each name clamped to its limits first."""

    constant: float
    coefficients: Mapping[str, float]
    limits: Mapping[str, tuple[float, float]]

    def weights(self, names: Sequence[str]) -> NDArray[np.float64]:
        return np.array([self.coefficients.get(name, 0.0) for name in names])

    def sides(self, name: str, value: float) -> tuple[float, float]:
        """How far the value is from its lower and its upper clamp."""
        lower, upper = self.limits.get(name, (-math.inf, math.inf))
        return max(value - lower, 0.0), max(upper - value, 0.0)

    def room(self, names: Sequence[str], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The distance from each value to its nearer clamp."""
        return np.array(
            [min(self.sides(name, float(value))) for name, value in zip(names, values, strict=True)]
        )


def linear_form(expression: Expression) -> Linear | None:
    """The linear form of an expression, or None if it has none."""
    match expression.op:
        case Op.NUMBER:
            return Linear(expression.number, {}, {})
        case Op.NAME:
            return Linear(0.0, {expression.name: 1.0}, {})
        case Op.CLAMP:
            return _clamped(expression)
        case Op.NEGATE:
            return _scaled(linear_form(expression.arguments[0]), -1.0)
        case Op.ADD | Op.SUBTRACT:
            sign = 1.0 if expression.op is Op.ADD else -1.0
            return _sum(linear_form(expression.arguments[0]), linear_form(expression.arguments[1]), sign)
        case Op.MULTIPLY:
            left, right = (linear_form(argument) for argument in expression.arguments)
            if left is not None and right is not None and not left.coefficients:
                return _scaled(right, left.constant)
            if left is not None and right is not None and not right.coefficients:
                return _scaled(left, right.constant)
            return None
        case Op.DIVIDE:
            divisor = linear_form(expression.arguments[1])
            if divisor is None or divisor.coefficients or divisor.constant == 0:
                return None
            return _scaled(linear_form(expression.arguments[0]), 1.0 / divisor.constant)
    return None


def _clamped(expression: Expression) -> Linear | None:
    """A clamp directly around one name (or around c·name + d, which moves the limits)."""
    inner = linear_form(expression.arguments[0])
    if inner is None or len(inner.coefficients) != 1 or inner.limits:
        return None
    ((name, factor),) = inner.coefficients.items()
    if factor == 0:
        return None
    ends = sorted((limit.number - inner.constant) / factor for limit in expression.arguments[1:])
    return Linear(inner.constant, inner.coefficients, {name: (ends[0], ends[1])})


def _scaled(form: Linear | None, factor: float) -> Linear | None:
    if form is None:
        return None
    scaled = {name: factor * weight for name, weight in form.coefficients.items()}
    return Linear(factor * form.constant, scaled, form.limits)


def _sum(left: Linear | None, right: Linear | None, sign: float) -> Linear | None:
    if left is None or right is None:
        return None
    shared = set(left.coefficients) & set(right.coefficients)
    if any(left.limits.get(name) != right.limits.get(name) for name in shared):
        return None
    coefficients = dict(left.coefficients)
    for name, weight in right.coefficients.items():
        coefficients[name] = coefficients.get(name, 0.0) + sign * weight
    return Linear(left.constant + sign * right.constant, coefficients, {**left.limits, **right.limits})


# Expressions that are linear in the measurements, or a ratio of two that are: their intervals have an exact law.

_ONE = Linear(1.0, {}, {})


def ratio_form(expression: Expression) -> tuple[Linear, Linear] | None:
    """(top, bottom) with expression = top / bottom on the true values, or None. Linear ones have bottom 1.

    Looked through are bounds that the truth keeps anyway: the domains of statistics, a group's public least size, the
    distance of a denominator from zero. What the analyst's own formula cuts off is kept.
    """
    return _form(rebuild(expression, _unbounded))


def _unbounded(node: Expression) -> Expression:
    first = node.arguments[0] if node.arguments else node
    # Only statistics put a maximum around a bare measurement; formulas see statistics, which are clamped.
    least_size = node.op is Op.MAX and first.op is Op.NAME and node.arguments[1].op is Op.NUMBER
    return first if node.op in (Op.CLAMP, Op.AWAY_FROM_ZERO) or least_size else node


def _form(node: Expression) -> tuple[Linear, Linear] | None:
    linear = linear_form(node)
    if linear is not None:
        return linear, _ONE
    if len(node.arguments) != 2:
        return None
    left, right = (_form(argument) for argument in node.arguments)
    if left is None or right is None:
        return None
    match node.op:
        case Op.DIVIDE:
            # (a/b) / (c/d) is a ratio of linear forms only if the inner divisors are numbers.
            if not left[1].coefficients and not right[1].coefficients:
                return left[0], right[0]
        case Op.ADD | Op.SUBTRACT:
            sign = 1.0 if node.op is Op.ADD else -1.0
            if not right[0].coefficients and not right[1].coefficients:
                return _plus(left[0], left[1], sign * right[0].constant), left[1]
            if not left[0].coefficients and not left[1].coefficients:
                turned = _times(right[0], sign)
                return _plus(turned, right[1], left[0].constant), right[1]
        case Op.MULTIPLY:
            for one, other in ((left, right), (right, left)):
                if not one[0].coefficients and not one[1].coefficients:
                    return _times(other[0], one[0].constant), other[1]
    return None


def _times(form: Linear, factor: float) -> Linear:
    return Linear(
        factor * form.constant, {name: factor * weight for name, weight in form.coefficients.items()}, {}
    )


def _plus(form: Linear, other: Linear, factor: float) -> Linear:
    coefficients = dict(form.coefficients)
    for name, weight in other.coefficients.items():
        coefficients[name] = coefficients.get(name, 0.0) + factor * weight
    return Linear(form.constant + factor * other.constant, coefficients, {})
