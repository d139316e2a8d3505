"""Expressions that are linear in the measurements, or a ratio of two that are: their intervals have an exact law."""

from __future__ import annotations

from coterie.statistics.prediction.linear import Linear, linear_form
from coterie.statistics.specification.equations import Expression, Op, rebuild

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
