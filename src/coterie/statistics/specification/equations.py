"""Equations over the names of statistics: a small tree of arithmetic, read by a white list, never evaluated as code.

Whoever writes the specification writes the equation, so it is data: nothing here can call, import or look anything up.
"""

from __future__ import annotations

import ast
import io
import math
import re
import tokenize
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from coterie.errors import ParameterError, nearest
from coterie.statistics.specification.filters import label_text, split_labels


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

    def __add__(self, other: Expression) -> Expression:
        return Expression(Op.ADD, (self, other))

    def __sub__(self, other: Expression) -> Expression:
        return Expression(Op.SUBTRACT, (self, other))

    def __mul__(self, other: Expression) -> Expression:
        return Expression(Op.MULTIPLY, (self, other))

    def __truediv__(self, other: Expression) -> Expression:
        return Expression(Op.DIVIDE, (self, other))


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


DEEPEST_CHAIN = 150  # operations inside operations, through all equations that an equation uses
MOST_NODES = 20_000  # of an equation with all others put in


def in_order(formulas: Mapping[str, Expression]) -> list[str]:
    """The names of equations, each after those that it uses. Circles are refused."""
    sizes: dict[str, tuple[int, int]] = {}  # nodes, and how deep they are nested

    def visit(equation: str, path: tuple[str, ...], above: int) -> tuple[int, int]:
        if equation in path:
            circle = [*path[path.index(equation) :], equation]
            raise ParameterError(
                f"Equations go round in a circle: {' uses '.join(circle)}.",
                "Write one of them over statistics alone.",
            )
        if equation not in sizes:
            sizes[equation] = size(formulas[equation], (*path, equation), above)
        nodes, depth = sizes[equation]
        if nodes > MOST_NODES or above + depth > DEEPEST_CHAIN:
            raise ParameterError(
                f"Equation '{(*path, equation)[0]}' is too long with the equations that it uses.",
                "Use fewer of them.",
            )
        return nodes, depth

    def size(node: Expression, path: tuple[str, ...], above: int) -> tuple[int, int]:
        if node.op is Op.NAME and node.name in formulas:
            return visit(node.name, path, above)
        if above > DEEPEST_CHAIN:
            return 1, 1  # refused by whoever asked
        parts = [size(argument, path, above + 1) for argument in node.arguments]
        return 1 + sum(nodes for nodes, _ in parts), 1 + max((depth for _, depth in parts), default=0)

    for equation in formulas:
        visit(equation, (), 0)
    return list(sizes)


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


# Text → Expression, by a white list on Python's `ast`. Nothing is ever evaluated as code.

LONGEST_FORMULA = 4000
DEEPEST_FORMULA = 60

_BINARY: dict[type[ast.operator], Op] = {
    ast.Add: Op.ADD,
    ast.Sub: Op.SUBTRACT,
    ast.Mult: Op.MULTIPLY,
    ast.Div: Op.DIVIDE,
    ast.Pow: Op.POWER,
}
_FUNCTIONS = {"sqrt": Op.SQRT, "log": Op.LOG, "exp": Op.EXP, "abs": Op.ABS, "min": Op.MIN, "max": Op.MAX}
_GROUP = re.compile(r"([^\W\d]\w*)\[([^\[\]]*)\]")
_ALLOWED = (
    "Allowed are + - * / ** with a number as exponent, brackets, numbers, names of statistics "
    "and equations (a group in square brackets: mean_age[north]) and sqrt, log, exp, abs, min, max."
)


def parse(text: str, where: str = "The equation") -> Expression:
    """Read a formula such as `(a - b) / sqrt(v)`; `where` names the place in messages."""
    if not isinstance(text, str) or not text.strip():
        raise ParameterError(f"{where} is empty.", "Write a formula such as `a / b`.")
    if len(text) > LONGEST_FORMULA:
        raise ParameterError(
            f"{where} is longer than {LONGEST_FORMULA} characters.", "Split it into several."
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
        _no_folded_names(text.strip(), where)
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        raise ParameterError(
            f"{where} cannot be read as a formula.", _with_quotes(text) or _ALLOWED
        ) from None
    return _convert(tree.body, where, 0)


def _no_folded_names(text: str, where: str) -> None:
    """Python reads ﬁ as fi: such a name would stand for another statistic or group."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and unicodedata.normalize("NFKC", token.string) != token.string:
            raise ParameterError(
                f"{where} holds a name that would be read as '{unicodedata.normalize('NFKC', token.string)}'.",
                "Write that name, or put a group's label in quotes.",
            )


def _convert(node: ast.expr, where: str, depth: int) -> Expression:
    if depth > DEEPEST_FORMULA:
        raise ParameterError(f"{where} is nested too deeply.", "Split it into several equations.")

    def inner(child: ast.expr) -> Expression:
        return _convert(child, where, depth + 1)

    match node:
        case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            return _number(value, where)
        case ast.Name(id=identifier):
            return name(identifier)
        case ast.Subscript(value=ast.Name(id=identifier), slice=group):
            return name(f"{identifier}[{_group(group, where)}]")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return apply(Op.NEGATE, inner(operand))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return inner(operand)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
            op = _BINARY[type(operator)]
            if op is Op.POWER:
                return apply(op, inner(left), _exponent(right, where))
            return apply(op, inner(left), inner(right))
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in _FUNCTIONS:
            return _call(function, [inner(argument) for argument in arguments], where)
    raise ParameterError(f"{where} uses something that is not allowed in a formula.", _ALLOWED)


def _number(value: float, where: str) -> Expression:
    try:
        converted = float(value)
    except OverflowError:
        converted = math.inf
    if not math.isfinite(converted):
        raise ParameterError(f"{where} holds a number that is too large.", "Use numbers below 1e308.")
    return number(converted)


def _exponent(node: ast.expr, where: str) -> Expression:
    sign = 1.0
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = -sign if isinstance(node.op, ast.USub) else sign
        node = node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 100:
        return number(sign * float(value))
    raise ParameterError(
        f"{where} has an exponent that is not a number between -100 and 100.",
        "Write x ** 2, or exp(b * log(a)) for an exponent that is itself a statistic.",
    )


def _call(function: str, arguments: list[Expression], where: str) -> Expression:
    op = _FUNCTIONS[function]
    if op in (Op.MIN, Op.MAX):
        if len(arguments) < 2:
            raise ParameterError(
                f"{where} calls {function} with fewer than two values.", "Give it two or more."
            )
        result = arguments[0]
        for argument in arguments[1:]:
            result = apply(op, result, argument)
        return result
    if len(arguments) != 1:
        raise ParameterError(
            f"{where} calls {function} with {len(arguments)} values.", "Give it exactly one."
        )
    return apply(op, arguments[0])


def _group(node: ast.expr, where: str) -> str:
    """The label inside name[…]: words, numbers and quoted text, separated by commas."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return ", ".join(_label(part, where) for part in parts)


def _label(node: ast.expr, where: str) -> str:
    match node:
        case ast.Name(id=text):
            return text
        case ast.Constant(value=str(text)):
            return label_text(text)
        case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
            return label_text(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if isinstance(value, int | float):
            return label_text(-value)
    raise ParameterError(
        f"{where} names a group in a way that cannot be read.",
        "Put each label that is more than letters, digits and _ in quotes: mean_age['north west', f].",
    )


def _with_quotes(text: str) -> str:
    """What to write where a group's label holds signs of formulas: n[all, >50K] is n[all, '>50K']."""
    for head, inside in _GROUP.findall(text):
        labels = split_labels(inside)
        if any(not (label.isidentifier() or label.isdigit()) for label in labels):
            said = ", ".join(one if one.isidentifier() or one.isdigit() else repr(one) for one in labels)
            if f"{head}[{said}]" != f"{head}[{inside.strip()}]":
                return f"Put a group's label in quotes where it is more than letters, digits and _: {head}[{said}]."
    return ""


# Equations that analysts use all the time, ready to name instead of to write.


@dataclass(frozen=True, slots=True)
class ReadyMade:
    title: str
    arguments: tuple[str, ...]
    formula: str


READY_MADE: Mapping[str, ReadyMade] = {
    "ratio": ReadyMade("a/b", ("a", "b"), "{a} / {b}"),
    "difference": ReadyMade("a − b", ("a", "b"), "{a} - {b}"),
    "share": ReadyMade(
        "part of whole, kept in [0, 1]", ("part", "whole"), "min(max({part} / {whole}, 0), 1)"
    ),
    "percent_change": ReadyMade("100·(new/old − 1)", ("new", "old"), "100 * ({new} / {old} - 1)"),
    "t_test": ReadyMade(
        "two-sample t with unequal variances (Nunes 2024, §5.4.2)",
        ("mean1", "std1", "n1", "mean2", "std2", "n2"),
        "({mean1} - {mean2}) / sqrt({std1} ** 2 / {n1} + {std2} ** 2 / {n2})",
    ),
    "z_test": ReadyMade(
        "two-sample z for proportions, pooled",
        ("share1", "n1", "share2", "n2"),
        "({share1} - {share2}) / sqrt(max(({n1} * {share1} + {n2} * {share2}) / ({n1} + {n2})"
        " * (1 - ({n1} * {share1} + {n2} * {share2}) / ({n1} + {n2})), 0.000001) * (1 / {n1} + 1 / {n2}))",
    ),
    "odds_ratio": ReadyMade(
        "(a·d)/(b·c) of a two-by-two table of counts", ("a", "b", "c", "d"), "({a} * {d}) / ({b} * {c})"
    ),
    "correlation": ReadyMade(
        "Pearson's r from n, Σx, Σy, Σx², Σy², Σxy, kept in [−1, 1]",
        ("n", "sum_x", "sum_y", "sum_xx", "sum_yy", "sum_xy"),
        "min(max((({n} * {sum_xy}) - {sum_x} * {sum_y}) / sqrt(max({n} * {sum_xx} - {sum_x} ** 2, 0)"
        " * max({n} * {sum_yy} - {sum_y} ** 2, 0)), -1), 1)",
    ),
}


def formula_of(name: str, arguments: object, where: str) -> str:
    """The formula with the names of statistics filled in."""
    if name not in READY_MADE:
        raise ParameterError(f"{where} names an unknown ready-made equation.", nearest(name, READY_MADE))
    ready = READY_MADE[name]
    if isinstance(arguments, list) and len(arguments) == len(ready.arguments):
        arguments = dict(zip(ready.arguments, arguments, strict=True))
    if not isinstance(arguments, dict) or set(arguments) != set(ready.arguments):
        raise ParameterError(
            f"{where}: '{name}' needs the statistics {', '.join(ready.arguments)}.",
            f"Write of: {{{', '.join(f'{argument}: NAME' for argument in ready.arguments)}}}, or a list in order.",
        )
    quoted = {argument: _reference(str(statistic)) for argument, statistic in arguments.items()}
    return ready.formula.format(**quoted)


def _reference(statistic: str) -> str:
    """A group's label in quotes, so that any label can stand in a formula."""
    base, bracket, label = statistic.partition("[")
    if not bracket:
        return statistic
    labels = split_labels(label.rstrip().removesuffix("]"))
    return f"{base}[{', '.join(repr(part) for part in labels)}]"
