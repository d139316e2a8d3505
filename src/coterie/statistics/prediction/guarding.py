"""Equations kept away from division by zero and roots of negative numbers, and a word on each.

The expected absolute error of a ratio is infinite as long as its noisy denominator can come arbitrarily
near zero: that is the source of the spikes in Nunes 2024's figures. So a denominator that can reach zero is held
at a small public distance from it, on the side where it is expected; this is post-processing and costs
nothing. What cannot be cured that way is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from coterie.errors import ParameterError
from coterie.schema import exact
from coterie.statistics.specification.calculus import Range, Tape, range_of
from coterie.statistics.specification.equations import Expression, Op, apply, in_order, number, substitute
from coterie.statistics.specification.specification import Equation, Specification

DEFAULT_DISTANCE = 0.01  # of the denominator's expected size


def guarded(
    specification: Specification,
    ranges: Mapping[str, Range],
    expected: Mapping[str, float],
    warnings: list[str],
) -> dict[str, Expression]:
    """Every equation over statistics alone: those that it uses are put in, guarded as they are published."""
    by_name = {equation.name: equation for equation in specification.equations}
    found: dict[str, Expression] = {}
    for name in in_order({e.name: e.expression for e in specification.equations}):
        written = replace(by_name[name], expression=substitute(by_name[name].expression, found))
        found[name] = guard(written, ranges, expected, warnings)
    return {name: found[name] for name in by_name}


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
            f"Equation '{equation.name}' {verb} '{written}', whose domain includes 0: values {side} {exact.number(signed)} "
            f"are taken as {exact.number(signed)} (set `guard` to choose another distance)."
        )
        return apply(Op.AWAY_FROM_ZERO, what, number(signed))

    return visit(equation.expression)


def _refused(equation: Equation, what: str, inside: Expression) -> ParameterError:
    return ParameterError(
        f"Equation '{equation.name}' takes the {what} of '{inside}', which can be negative.",
        f"Write max({inside}, 0) inside it if zero is what a negative value means, or use other statistics.",
    )
