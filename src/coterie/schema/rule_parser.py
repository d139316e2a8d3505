"""Rules as text → the tree of coterie.schema.rules. Every fault is a sentence that quotes the rule, which is public."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

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
_SAME = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_ACROSS = "Rules across rows, such as members of a household, are not supported: rows are drawn one by one."
_SHAPE = "Write it as `age < 15 -> status = single`, `total = a + b` or `end >= start`."


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


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
        self.at = 0

    def rule(self) -> EditRule | Derivation:
        derived = self._derivation()
        if derived is not None:
            return derived
        first = self._any()
        if not self._takes("arrow"):
            self._ends()
            return EditRule(self.text, first)
        then = self._any()
        self._ends()
        return EditRule(self.text, then, first)

    def condition(self) -> Condition:
        found = self._any()
        self._ends()
        return found

    def fail(self, what: str, advice: str) -> NoReturn:
        raise SchemaError(f"{self.place} '{self.text}' {what}.", advice)

    def _ends(self) -> None:
        if self.at < len(self.tokens):
            self.fail(f"does not end at '{self.tokens[self.at].text}'", _SHAPE)

    def _derivation(self) -> Derivation | None:
        """`column = a + b`: a sum of several terms, or another column of numbers, alone on the right side."""
        arrow = any(token.kind == "arrow" for token in self.tokens)
        if arrow or len(self.tokens) < 3 or self.tokens[1].text not in ("=", "=="):
            return None
        target = self.tokens[0]
        if target.kind not in ("word", "quoted") or target.text not in self.attributes:
            return None
        rest = self.tokens[2:]
        numeric = self.attributes[target.text].type.has_zero
        several = any(token.kind == "sign" for token in rest[1:])
        if not numeric or not (several or (rest[0].kind != "number" and rest[0].kind != "sign")):
            return None
        self.at = 2
        source = self._sum()
        if self.at < len(self.tokens):
            self.at = 0
            return None
        return Derivation(self.text, target.text, source)

    def _any(self) -> Condition:
        parts = [self._all()]
        while self._takes_word("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), every=False)

    def _all(self) -> Condition:
        parts = [self._one()]
        while self._takes_word("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), every=True)

    def _one(self) -> Condition:
        if self._takes_word("not"):
            return Negated(self._one())
        if self._takes("sign", "("):
            found = self._any()
            self._close()
            return found
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else _Token("end", "")
        if after.kind == "sign" and after.text == "(":
            self.fail(
                f"calls '{self.tokens[self.at].text}(…)', but a rule is about one row",
                _ACROSS,
            )
        if after.kind == "word" and after.text.casefold() in ("is", "in", "not"):
            return self._word_condition()
        here = self._column_here()
        if here is not None and not here.type.ranged:
            return self._label_condition(here)
        left = self._sum()
        operator = self._operator()
        right = self._sum(self._kind_of(left))
        if self._takes("operator"):
            self.fail("compares more than two things", "Write two conditions, joined by `and`.")
        self._check_kinds(left, right)
        return Compared(left, operator, right)

    def _word_condition(self) -> Condition:
        name = self._column()
        if self._takes_word("is"):
            negated = self._takes_word("not")
            if not self._takes_word("missing"):
                self.fail("has `is` without `missing`", "Write `is missing` or `is not missing`.")
            return Negated(Absent(name)) if negated else Absent(name)
        negated = self._takes_word("not")
        if not self._takes_word("in"):
            self.fail("has `not` in the wrong place", "Write `not` before a condition, or `not in (a, b)`.")
        if not self._takes("sign", "("):
            self.fail("has `in` without a list", "Write `in (a, b)`.")
        attribute = self.attributes[name]
        found: list[str] = []
        while not found or self._takes("sign", ","):
            found.append(self._label(attribute))
        self._close()
        among = Labelled(name, tuple(found))
        return Negated(among) if negated else among

    def _label_condition(self, attribute: Attribute) -> Condition:
        """A label, an ordered one by its place, or another column with the same labels."""
        name, operator = self._column(), self._operator()
        other = self._column_here()
        if other is not None and self.tokens[self.at].kind != "label":
            if attribute.categories != other.categories or attribute.type is not other.type:
                self.fail(
                    f"compares '{name}' with '{other.name}', which has other labels",
                    "Compare columns of the same labels, or a column with one of its labels.",
                )
            self._column()
            self._check_order(attribute, operator)
            return Compared(LinearSum(((name, 1.0),)), operator, LinearSum(((other.name, 1.0),)))
        label = self._label(attribute)
        if operator in ("=", "!="):
            found = Labelled(name, (label,))
            return found if operator == "=" else Negated(found)
        self._check_order(attribute, operator)
        assert attribute.categories is not None
        assert attribute.categories.labels is not None
        place = attribute.categories.labels.index(label)
        return Compared(LinearSum(((name, 1.0),)), operator, LinearSum((), float(place)))

    def _check_order(self, attribute: Attribute, operator: str) -> None:
        if operator not in ("=", "!=") and attribute.type is not AttributeType.ORDINAL:
            self.fail(
                f"asks for `{operator}` of '{attribute.name}', whose labels have no order",
                "Write `=`, `!=` or `in (…)`, or declare it `type: ordinal`.",
            )

    def _label(self, attribute: Attribute) -> str:
        token = self._next()
        if token.kind not in ("label", "word", "quoted", "number", "moment"):
            self.fail(f"needs a label of '{attribute.name}' before '{token.text}'", _SHAPE)
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

    # Sums of columns and numbers.

    def _sum(self, moment: AttributeType | None = None) -> LinearSum:
        terms: dict[str, float] = {}
        constant = 0.0
        sign = -1.0 if self._takes_minus() else 1.0
        while True:
            name, value = self._term(moment)
            if name is None:
                constant += sign * value
            else:
                terms[name] = terms.get(name, 0.0) + sign * value
            if self._takes("sign", "+"):
                sign = 1.0
            elif self._takes_minus():
                sign = -1.0
            else:
                return LinearSum(tuple(terms.items()), constant)

    def _term(self, moment: AttributeType | None) -> tuple[str | None, float]:
        name, value = self._factor(moment)
        while self._takes("sign", "*"):
            other, times = self._factor(None)
            if name is not None and other is not None:
                self.fail("multiplies columns", "Multiply a column by a number only, such as 2 * a.")
            name, value = name or other, value * times
        return name, value

    def _factor(self, moment: AttributeType | None) -> tuple[str | None, float]:
        token = self._next()
        if token.kind == "number":
            if moment is not None:
                self.fail(f"compares a {moment.value} with a number", "Write a day like 2026-01-31.")
            return None, float(token.text)
        if token.kind in ("moment", "label") and moment is not None:
            try:
                bound = typed_bound(token.text.strip("'\""), timestamp=moment is AttributeType.TIMESTAMP)
                return None, float(as_number(bound))
            except (ValueError, TypeError):
                self.fail(f"has no {moment.value} at '{token.text}'", "Write it like 2026-01-31.")
        if token.kind not in ("word", "quoted"):
            self.fail(f"needs a column or a number before '{token.text}'", _SHAPE)
        self.at -= 1
        return self._column(), 1.0

    def _kind_of(self, found: LinearSum) -> AttributeType | None:
        kinds = [self.attributes[name].type for name in found.columns]
        return next((kind for kind in kinds if kind in _MOMENTS), None)

    def _check_kinds(self, left: LinearSum, right: LinearSum) -> None:
        names = [*left.columns, *right.columns]
        kinds = {self.attributes[name].type for name in names}
        if not names:
            self.fail("compares numbers only", "Name a column.")
        labelled = [name for name in names if not self.attributes[name].type.ranged]
        if labelled:
            self.fail(
                f"calculates with '{labelled[0]}', which has labels", "Compare labels by `=`, `!=` or `in`."
            )
        if kinds & set(_MOMENTS) and (len(kinds) > 1 or len(left.terms) > 1 or len(right.terms) > 1):
            self.fail(
                "mixes dates with something else",
                "Compare a date with one date, a timestamp with one timestamp.",
            )

    # Tokens.

    def _next(self) -> _Token:
        if self.at >= len(self.tokens):
            self.fail("ends too early", _SHAPE)
        self.at += 1
        return self.tokens[self.at - 1]

    def _takes(self, kind: str, text: str | None = None) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at].kind == kind
        if found and text in (None, self.tokens[self.at].text):
            self.at += 1
            return True
        return False

    def _takes_minus(self) -> bool:
        return self._takes("sign", "-") or self._takes("sign", "−")

    def _takes_word(self, word: str) -> bool:
        token = self.tokens[self.at] if self.at < len(self.tokens) else _Token("end", "")
        if token.kind == "word" and token.text.casefold() == word:
            self.at += 1
            return True
        return False

    def _close(self) -> None:
        if not self._takes("sign", ")"):
            self.fail("has a bracket that is not closed", "Close it.")

    def _operator(self) -> str:
        token = self._next()
        if token.kind != "operator":
            self.fail(f"has no comparison before '{token.text}'", _SHAPE)
        return _SAME.get(token.text, token.text)

    def _column_here(self) -> Attribute | None:
        token = self.tokens[self.at] if self.at < len(self.tokens) else _Token("end", "")
        return self.attributes.get(token.text) if token.kind in ("word", "quoted") else None

    def _column(self) -> str:
        token = self._next()
        if token.kind not in ("word", "quoted"):
            self.fail(f"needs a column before '{token.text}'", _SHAPE)
        if token.text == self.unit:
            self.fail(f"is about the unit '{token.text}', but a rule is about one row", _ACROSS)
        if token.text not in self.attributes:
            self.fail(
                f"names a column that is not protected: '{token.text}'",
                f"{nearest(token.text, self.attributes)} A name with blanks or signs stands in backticks: `name`.",
            )
        return token.text
