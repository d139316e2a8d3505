"""Text → Expression, by a white list on Python's `ast`. Nothing is ever evaluated as code."""

from __future__ import annotations

import ast
import io
import math
import tokenize
import unicodedata

from coterie.errors import ParameterError
from coterie.statistics.expression import Expression, Op, apply, name, number
from coterie.statistics.names import label_text

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
_ALLOWED = (
    "Allowed are + - * / ** with a number as exponent, brackets, numbers, names of statistics "
    "(a group in square brackets: mean_age[north]) and sqrt, log, exp, abs, min, max."
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
        raise ParameterError(f"{where} cannot be read as a formula.", _ALLOWED) from None
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
        "Write mean_age[north], or with quotes mean_age['north west'].",
    )
