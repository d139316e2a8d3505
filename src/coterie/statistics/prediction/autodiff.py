"""Evaluate an equation over many draws at once, and its derivatives backwards through the same steps.

The derivative rules are written out by hand below: one line an operation. At a kink (abs, min, max, a
clamp) the derivative is that of the side the draw is on; kinks have probability zero under noise with a
density, so the expectation's gradient is exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.specification.equations import Expression, Op, walk


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
        results: list[Floats] = []
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for node, inputs in zip(self.nodes, self.inputs, strict=True):
                results.append(_forward(node, [results[index] for index in inputs], values))
        return results

    def value(self, values: Mapping[str, Floats]) -> Floats:
        return self.run(values)[-1]

    def gradient(self, results: list[Floats], seed: Floats) -> dict[str, Floats]:
        """seed · ∂(equation)/∂name for each name, draw by draw, from the results of `run`."""
        carried: list[Floats | float] = [0.0] * len(self.nodes)
        carried[-1] = seed
        gradients: dict[str, Floats] = {}
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for index in range(len(self.nodes) - 1, -1, -1):
                node, inputs, flow = self.nodes[index], self.inputs[index], carried[index]
                if node.op is Op.NAME:
                    gradients[node.name] = np.asarray(flow, dtype=np.float64)
                elif inputs:
                    arguments = [results[place] for place in inputs]
                    for place, slope in zip(inputs, _slopes(node, arguments, results[index]), strict=True):
                        if slope is not None:
                            carried[place] = carried[place] + flow * slope
        return gradients


def _forward(node: Expression, arguments: list[Floats], values: Mapping[str, Floats]) -> Floats:
    match node.op:
        case Op.NUMBER:
            return np.float64(node.number)  # type: ignore[return-value]
        case Op.NAME:
            return values[node.name]
        case Op.ADD:
            return arguments[0] + arguments[1]
        case Op.SUBTRACT:
            return arguments[0] - arguments[1]
        case Op.MULTIPLY:
            return arguments[0] * arguments[1]
        case Op.DIVIDE:
            return arguments[0] / arguments[1]
        case Op.POWER:
            exponent = node.arguments[1].number
            return arguments[0] * arguments[0] if exponent == 2 else np.power(arguments[0], exponent)
        case Op.NEGATE:
            return -arguments[0]
        case Op.SQRT:
            return np.sqrt(arguments[0])
        case Op.LOG:
            return np.log(arguments[0])
        case Op.EXP:
            return np.exp(arguments[0])
        case Op.ABS:
            return np.abs(arguments[0])
        case Op.MIN:
            return np.minimum(arguments[0], arguments[1])
        case Op.MAX:
            return np.maximum(arguments[0], arguments[1])
        case Op.CLAMP:
            return np.minimum(np.maximum(arguments[0], arguments[1]), arguments[2])
        case Op.AWAY_FROM_ZERO:
            a, distance = arguments
            return np.where(distance > 0, np.maximum(a, distance), np.minimum(a, distance))


def _slopes(node: Expression, arguments: list[Floats], result: Floats) -> list[Floats | float | None]:
    """∂node/∂argument for each argument; None where the argument is a constant."""
    a = arguments[0]
    match node.op:
        case Op.ADD:
            return [1.0, 1.0]
        case Op.SUBTRACT:
            return [1.0, -1.0]
        case Op.MULTIPLY:
            return [arguments[1], a]
        case Op.DIVIDE:
            return [1.0 / arguments[1], -result / arguments[1]]
        case Op.POWER:
            exponent = node.arguments[1].number
            return [2.0 * a if exponent == 2 else exponent * np.power(a, exponent - 1.0), None]
        case Op.NEGATE:
            return [-1.0]
        case Op.SQRT:
            # At a clamped zero the square root has no slope; the clamp below it passes nothing on anyway.
            return [np.where(result > 0, 0.5 / np.where(result > 0, result, 1.0), 0.0)]
        case Op.LOG:
            return [1.0 / a]
        case Op.EXP:
            return [result]
        case Op.ABS:
            return [np.sign(a)]
        case Op.MIN:
            return [np.where(a <= arguments[1], 1.0, 0.0), np.where(a > arguments[1], 1.0, 0.0)]
        case Op.MAX:
            return [np.where(a >= arguments[1], 1.0, 0.0), np.where(a < arguments[1], 1.0, 0.0)]
        case Op.CLAMP:
            return [np.where((a >= arguments[1]) & (a <= arguments[2]), 1.0, 0.0), None, None]
        case Op.AWAY_FROM_ZERO:
            return [np.where(a == result, 1.0, 0.0), None]
    return [None] * len(arguments)
