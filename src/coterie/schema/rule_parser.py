"""Rules as text → the tree of coterie.schema.rules. Every fault is a sentence that quotes the rule, which is public.

Signs and words are written as Python writes them, names and labels as numbered places; Python's own parser then knows which
condition belongs to which. Nothing is ever run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from coterie.errors import SchemaError, nearest
from coterie.schema.domain import AttributeType, as_number, typed_bound
from coterie.schema.rules import (
    Absent,
    Compared,
    Condition,
    Derivation,
    EditRule,
    Joined,
    Labelled,
    LinearSum,
    Negated,
)

if TYPE_CHECKING:
    from coterie.schema.attributes import Attribute

_TRUTH = {"yes": "true", "1": "true", "no": "false", "0": "false"}
_MOMENTS = (AttributeType.DATE, AttributeType.TIMESTAMP)

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<arrow>->|→)|(?P<operator><=|>=|!=|<>|==|≤|≥|≠|=|<|>)
    |(?P<moment>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+)?)
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<label>'[^']*'|"[^"]*")|`(?P<quoted>[^`]+)`|(?P<word>[^\W\d][\w.]*)|(?P<sign>[()+*,−-])
    )""",
    re.VERBOSE,
)
_IN_PYTHON = {"=": "==", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">=", "−": "-"}
_OPERATORS = {ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_ACROSS = "Rules across rows, such as members of a household, are not supported: rows are drawn one by one."
_SHAPE = "Write it as `age < 15 -> status = single`, `total = a + b` or `end >= start`."


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def word(self) -> str:
        return self.text.casefold() if self.kind == "word" else ""


class RuleParser:
    """One text. `attributes` are those that a rule may name; `unit` is the column of the privacy unit."""

    def __init__(
        self, text: str, attributes: Mapping[str, Attribute], unit: str | None = None, place: str = "Rule"
    ) -> None:
        self.text, self.attributes, self.unit, self.place = text, attributes, unit, place
        self.tokens: list[_Token] = []
        end = 0
        while text[end:].strip():
            found = _TOKEN.match(text, end)
            if found is None or found.lastgroup is None:
                self.fail(f"has a sign that no rule has: {text[end:].strip()[0]}", _SHAPE)
            self.tokens.append(_Token(found.lastgroup, found[found.lastgroup]))
            end = found.end()

    def rule(self) -> EditRule | Derivation:
        arrow = next((n for n, token in enumerate(self.tokens) if token.kind == "arrow"), None)
        if arrow is not None:
            when = self._condition(self._tree(0, arrow))
            return EditRule(self.text, self._condition(self._tree(arrow + 1, len(self.tokens))), when)
        tree = self._tree(0, len(self.tokens))
        return self._derivation(tree) or EditRule(self.text, self._condition(tree))

    def condition(self) -> Condition:
        return self._condition(self._tree(0, len(self.tokens)))

    def fail(self, what: str, advice: str = _SHAPE) -> NoReturn:
        raise SchemaError(f"{self.place} '{self.text}' {what}.", advice)

    # Tokens to Python's tree.

    def _tree(self, first: int, end: int) -> ast.expr:
        starts, source = [], ""
        for number in range(first, end):
            starts.append(len(source))
            source += self._in_python(number) + " "
        try:
            return ast.parse(source.rstrip(), mode="eval").body
        except SyntaxError as error:
            if "never closed" in error.msg:
                self.fail("has a bracket that is not closed", "Close it.")
            at = sum(start < (error.offset or 1) for start in starts)
            if (error.offset or 0) > len(source.rstrip()) or not starts:
                self.fail("ends too early")
            if at == 2 and self.tokens[first].kind == "word":  # a name with blanks
                self._named(self.tokens[first].text)
            self.fail(f"does not end at '{self.tokens[first + at - 1].text}'")
        except (RecursionError, MemoryError):
            self.fail("is too long", "Write several rules.")

    def _in_python(self, number: int) -> str:
        token, nothing = self.tokens[number], _Token("", "")
        before, earlier = (self.tokens[n] if n >= 0 else nothing for n in (number - 1, number - 2))
        if token.kind in ("operator", "sign"):
            return _IN_PYTHON.get(token.text, token.text)
        if token.word in ("and", "or", "not", "in", "is") and before.kind != "operator":
            return token.word
        if token.word == "missing" and "is" in (before.word, before.word == "not" and earlier.word):
            return "None"
        return token.text if token.kind == "arrow" else f"_{number}"

    def _token(self, node: ast.expr) -> _Token | None:
        return self.tokens[int(node.id[1:])] if isinstance(node, ast.Name) else None

    def _attribute(self, node: ast.expr) -> Attribute | None:
        token = self._token(node)
        return self.attributes.get(token.text) if token and token.kind in ("word", "quoted") else None

    # Python's tree to conditions.

    def _derivation(self, tree: ast.expr) -> Derivation | None:
        """`column = a + b`: a sum of several terms, or another column of numbers, alone on the right side."""
        if not isinstance(tree, ast.Compare) or len(tree.ops) > 1 or not isinstance(tree.ops[0], ast.Eq):
            return None
        target, right = self._attribute(tree.left), tree.comparators[0]
        token = self._token(right)
        several = isinstance(right, ast.BinOp) or (token is not None and token.kind != "number")
        if target is None or not target.type.has_zero or not several:
            return None
        return Derivation(self.text, target.name, self._sum(right))

    def _condition(self, node: ast.expr) -> Condition:
        if isinstance(node, ast.BoolOp):
            return Joined(tuple(map(self._condition, node.values)), every=isinstance(node.op, ast.And))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Negated(self._condition(node.operand))
        if not isinstance(node, ast.Compare):
            self._sum(node)  # which may say what is wrong
            self.fail("has no comparison")
        if len(node.ops) > 1:
            self.fail("compares more than two things", "Write two conditions, joined by `and`.")
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        if isinstance(operator, ast.Is | ast.IsNot):
            if not isinstance(right, ast.Constant):
                self.fail("has `is` without `missing`", "Write `is missing` or `is not missing`.")
            absent = Absent(self._column(left))
            return absent if isinstance(operator, ast.Is) else Negated(absent)
        if isinstance(operator, ast.In | ast.NotIn):
            attribute = self.attributes[self._column(left)]
            listed = right.elts if isinstance(right, ast.Tuple) else [right]
            among = Labelled(attribute.name, tuple(self._label(attribute, label) for label in listed))
            return among if isinstance(operator, ast.In) else Negated(among)
        here = self._attribute(left)
        if here is not None and not here.type.ranged:
            return self._label_condition(here, _OPERATORS[type(operator)], right)
        return self._comparison(left, _OPERATORS[type(operator)], right)

    def _label_condition(self, attribute: Attribute, operator: str, right: ast.expr) -> Condition:
        """A label, an ordered one by its place, or another column with the same labels."""
        name, other = attribute.name, self._attribute(right)
        if operator not in ("=", "!=") and attribute.type is not AttributeType.ORDINAL:
            self.fail(
                f"asks for `{operator}` of '{name}', whose labels have no order",
                "Write `=`, `!=` or `in (…)`, or declare it `type: ordinal`.",
            )
        if other is not None:
            if attribute.categories != other.categories or attribute.type is not other.type:
                self.fail(
                    f"compares '{name}' with '{other.name}', which has other labels",
                    "Compare columns of the same labels, or a column with one of its labels.",
                )
            return Compared(LinearSum(((name, 1.0),)), operator, LinearSum(((other.name, 1.0),)))
        label = self._label(attribute, right)
        if operator in ("=", "!="):
            found = Labelled(name, (label,))
            return found if operator == "=" else Negated(found)
        assert attribute.categories is not None
        assert attribute.categories.labels is not None
        place = attribute.categories.labels.index(label)
        return Compared(LinearSum(((name, 1.0),)), operator, LinearSum((), float(place)))

    def _label(self, attribute: Attribute, node: ast.expr) -> str:
        token = self._token(node)
        if token is None:
            self.fail(f"needs a label of '{attribute.name}'")
        text = token.text[1:-1] if token.kind == "label" else token.text
        if attribute.type.ranged:
            self.fail(
                f"asks for a label of '{attribute.name}', which has numbers", "Compare it with a number."
            )
        labels = attribute.categories.labels if attribute.categories is not None else None
        if attribute.type is AttributeType.BOOLEAN:
            text, labels = _TRUTH.get(text.casefold(), text.casefold()), ("false", "true")
        text = attribute.codes_by_words.get(text, text)
        if labels is not None and text not in labels:  # those of a taxonomy are in its file
            self.fail(
                f"names a label that '{attribute.name}' does not have: {text}",
                nearest(text, [*attribute.codes_by_words, *labels]),
            )
        return text

    def _comparison(self, left: ast.expr, operator: str, right: ast.expr) -> Compared:
        named = [
            found.type
            for side in (left, right)
            for node in ast.walk(side)
            if isinstance(node, ast.expr) and (found := self._attribute(node)) is not None
        ]
        moment = next((kind for kind in named if kind in _MOMENTS), None)
        sides = [self._sum(side, moment) for side in (left, right)]
        names = [name for side in sides for name in side.columns]
        labelled = [name for name in names if not self.attributes[name].type.ranged]
        if not names:
            self.fail("compares numbers only", "Name a column.")
        if labelled:
            self.fail(
                f"calculates with '{labelled[0]}', which has labels", "Compare labels by `=`, `!=` or `in`."
            )
        if moment is not None and (len(set(named)) > 1 or any(len(side.terms) > 1 for side in sides)):
            self.fail(
                "mixes dates with something else",
                "Compare a date with one date, a timestamp with one timestamp.",
            )
        for side in (left, right):
            token = self._token(side)
            if moment is not None and token is not None and token.kind == "number":
                self.fail(f"compares a {moment.value} with a number", "Write a day like 2026-01-31.")
        return Compared(sides[0], operator, sides[1])

    def _sum(self, node: ast.expr, moment: AttributeType | None = None) -> LinearSum:
        """Columns and numbers, with numbers as factors; `moment` is what a date in it is."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return _times(self._sum(node.operand, moment), -1.0)
        if isinstance(node, ast.BinOp):
            left, right = self._sum(node.left, moment), self._sum(node.right, moment)
            if isinstance(node.op, ast.Mult):
                if left.terms and right.terms:
                    self.fail("multiplies columns", "Multiply a column by a number only, such as 2 * a.")
                return _times(left, right.constant) if left.terms else _times(right, left.constant)
            right = _times(right, -1.0 if isinstance(node.op, ast.Sub) else 1.0)
            terms = dict(left.terms)
            for name, factor in right.terms:
                terms[name] = terms.get(name, 0.0) + factor
            return LinearSum(tuple(terms.items()), left.constant + right.constant)
        token = self._token(node)
        if token is not None and token.kind == "number":
            return LinearSum((), float(token.text))
        if token is not None and token.kind in ("moment", "label") and moment is not None:
            try:
                bound = typed_bound(token.text.strip("'\""), timestamp=moment is AttributeType.TIMESTAMP)
                return LinearSum((), float(as_number(bound)))
            except (ValueError, TypeError):
                self.fail(f"has no {moment.value} at '{token.text}'", "Write it like 2026-01-31.")
        return LinearSum(((self._column(node), 1.0),))

    def _column(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call) and (called := self._token(node.func)) is not None:
            self.fail(f"calls '{called.text}(…)', but a rule is about one row", _ACROSS)
        token = self._token(node)
        if token is None or token.kind not in ("word", "quoted"):
            self.fail("needs a column" + (f" at '{token.text}'" if token else ""))
        return self._named(token.text)

    def _named(self, name: str) -> str:
        if name == self.unit:
            self.fail(f"is about the unit '{name}', but a rule is about one row", _ACROSS)
        if name not in self.attributes:
            self.fail(
                f"names a column that is not protected: '{name}'",
                f"{nearest(name, self.attributes)} A name with blanks or signs stands in backticks: `name`.",
            )
        return name


def _times(found: LinearSum, factor: float) -> LinearSum:
    return LinearSum(tuple((name, factor * one) for name, one in found.terms), factor * found.constant)
