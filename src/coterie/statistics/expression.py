"""An equation as a value: a small tree of arithmetic over the names of statistics.

Whoever writes the specification writes the equation, so it is data, not code: `parsing` builds this tree
from a white list, and nothing here can call, import or look anything up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Op(StrEnum):
    NUMBER = "number"
    NAME = "name"
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    POWER = "**"  # the exponent is a number
    NEGATE = "neg"
    SQRT = "sqrt"
    LOG = "log"
    EXP = "exp"
    ABS = "abs"
    MIN = "min"
    MAX = "max"
    CLAMP = "clamp"  # arguments: what, lower, upper (both numbers)
    AWAY_FROM_ZERO = "away_from_zero"  # arguments: what, distance (a number; its sign is the side kept)


@dataclass(frozen=True, slots=True)
class Expression:
    """One node; `number` and `name` are used by the nodes of that kind only."""

    op: Op
    arguments: tuple[Expression, ...] = ()
    number: float = 0.0
    name: str = ""

    def __str__(self) -> str:
        return _text(self)


def number(value: float) -> Expression:
    return Expression(Op.NUMBER, number=float(value))


def name(text: str) -> Expression:
    return Expression(Op.NAME, name=text)


def apply(op: Op, *arguments: Expression) -> Expression:
    return Expression(op, arguments)


def clamp(what: Expression, lower: float, upper: float) -> Expression:
    return Expression(Op.CLAMP, (what, number(lower), number(upper)))


def walk(expression: Expression) -> Iterator[Expression]:
    """Every node, arguments before the node that uses them."""
    for argument in expression.arguments:
        yield from walk(argument)
    yield expression


def names_in(expression: Expression) -> tuple[str, ...]:
    """The names used, each once, in the order of first appearance."""
    return tuple(dict.fromkeys(node.name for node in walk(expression) if node.op is Op.NAME))


def substitute(expression: Expression, meaning: Mapping[str, Expression]) -> Expression:
    """Put an expression in the place of each name that `meaning` knows."""

    def replaced(node: Expression) -> Expression:
        return meaning.get(node.name, node) if node.op is Op.NAME else node

    return rebuild(expression, replaced)


def rebuild(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The tree with `change` applied to every node, leaves first."""
    arguments = tuple(rebuild(argument, change) for argument in expression.arguments)
    node = (
        expression
        if arguments == expression.arguments
        else Expression(expression.op, arguments, expression.number, expression.name)
    )
    return change(node)


_INFIX = {Op.ADD: 1, Op.SUBTRACT: 1, Op.MULTIPLY: 2, Op.DIVIDE: 2, Op.POWER: 4}


def _text(node: Expression, above: int = 0) -> str:
    if node.op is Op.NUMBER:
        return f"{node.number:.12g}"
    if node.op is Op.NAME:
        return node.name
    if node.op is Op.NEGATE:
        return _bracket(f"-{_text(node.arguments[0], 3)}", 3, above)
    if node.op in _INFIX:
        strength = _INFIX[node.op]
        left, right = node.arguments
        # a − (b + c) and a / (b·c) need their brackets on the right; a ** b needs them on the left.
        left_text = _text(left, strength + (1 if node.op is Op.POWER else 0))
        right_text = _text(right, strength + (0 if node.op is Op.POWER else 1))
        return _bracket(f"{left_text} {node.op.value} {right_text}", strength, above)
    return f"{node.op.value}({', '.join(_text(argument) for argument in node.arguments)})"


def _bracket(text: str, strength: int, above: int) -> str:
    return f"({text})" if strength < above else text
