"""Columns, values and conditions of an SQL query → `where` of a specification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attributes import Attribute, AttributeType, Missing, Schema
from coterie.statistics.specification.asked_values import asked_labels

MOST_WHOLE_VALUES = 1000  # a column of whole numbers with a wider domain is no list of groups
Node = Any  # an expression of sqlglot, whose classes differ between its versions
Where = dict[str, Any]  # as a specification has it


def refused(node: Node | str, advice: str) -> ParameterError:
    text = node if isinstance(node, str) else node.sql()
    short = text if len(text) <= 80 else f"{text[:77]}…"
    return ParameterError(f"SQL: `{short}` cannot become a statistic.", advice)


@dataclass(frozen=True)
class SqlNames:
    """Columns of the query are attributes of the schema, whatever their case."""

    schema: Schema

    def column(self, node: Node) -> str:
        from sqlglot import exp

        node = node.unnest()
        if not isinstance(node, exp.Column):
            raise refused(
                node,
                "Use a column of the table here; compute others before, and describe them in the schema.",
            )
        known = [attribute.name for attribute in self.schema.attributes]
        same = [name for name in known if name == node.name] or [
            name for name in known if name.casefold() == node.name.casefold()
        ]
        if not same:
            raise SchemaError(f"SQL: the schema has no column '{node.name}'.", nearest(node.name, known))
        return same[0]

    def values(self, column: str) -> list[Any] | None:
        """The public values of a column: declared labels, true and false, or the whole numbers of a small domain."""
        attribute = self.schema[column]
        labels = asked_labels(attribute, self.schema.folder)
        if labels is not None:
            return list(labels)
        if attribute.type is AttributeType.INTEGER and attribute.domain is not None:
            low, high = math.ceil(attribute.domain.lower), math.floor(attribute.domain.upper)
            return list(range(low, high + 1)) if high - low < MOST_WHOLE_VALUES else None
        return None

    def present(self, column: str) -> Where:
        """Records that have a value there."""
        attribute = self.schema[column]
        if attribute.is_protected and attribute.missing in (Missing.ERROR, Missing.IMPUTE):
            return {}  # they all have
        if attribute.domain is not None:
            return {
                column: {
                    "from": _plain(attribute.domain.lower),
                    "below": _plain(just_above(attribute, attribute.domain.upper)),
                }
            }
        labels = asked_labels(attribute, self.schema.folder)
        if labels is None:
            raise SchemaError(
                f"SQL: which records have a value in '{column}' cannot be said, as the schema declares none.",
                "Declare its labels or its domain in the schema, or write COUNT(*).",
            )
        return {column: list(labels)}

    def where(self, node: Node) -> Where:
        """A condition as a mapping; what cannot be said there is refused."""
        return {column: _written(found) for column, found in self._conditions(node).items()}

    def both(self, first: Where, second: Where, node: Node) -> Where:
        """Records that satisfy two mappings."""
        joined = {c: _read(v) for c, v in first.items()}
        return {
            c: _written(v) for c, v in _joined(joined, {c: _read(v) for c, v in second.items()}, node).items()
        }

    def _conditions(self, node: Node) -> dict[str, _Allowed]:
        from sqlglot import exp

        node = node.unnest()
        match node:
            case exp.And():
                return _joined(self._conditions(node.left), self._conditions(node.right), node)
            case exp.Or():
                return self._either(node)
            case exp.Not():
                return self._opposite(node)
            case exp.Column():
                return {self.column(node): _Values(("true",))}
            case exp.In() if node.expressions:
                return {self.column(node.this): _Values(tuple(_literal(e) for e in node.expressions))}
            case exp.Between():
                column = self.column(node.this)
                ends = _number(node.args["low"]), self._above(column, _number(node.args["high"]))
                return {self._ranged(column, node): _Interval(*ends)}
            case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                return self._comparison(node)
            case exp.Is():
                if isinstance(node.expression, exp.Null):
                    raise refused(node, "Records without a value are not counted apart; leave it out.")
                return {self.column(node.this): _Values((_literal(node.expression),))}
        advice = "Conditions are AND, =, IN, BETWEEN, <, <=, >, >= and OR over one column; list the values with IN."
        raise refused(node, advice)

    def _comparison(self, node: Node) -> dict[str, _Allowed]:
        from sqlglot import exp

        kind, left, right = type(node), node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            turned = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}
            kind, left, right = turned.get(kind, kind), right, left
        column = self.column(left)
        if kind is exp.EQ:
            return {column: _Values((_literal(right),))}
        if kind is exp.NEQ:
            return {column: self._others(column, (_literal(right),), node)}
        self._ranged(column, node)
        value = _number(right)
        if kind is exp.GTE:
            return {column: _Interval(value, math.inf)}
        if kind is exp.GT:
            return {column: _Interval(self._above(column, value), math.inf)}
        return {column: _Interval(-math.inf, value if kind is exp.LT else self._above(column, value))}

    def _either(self, node: Node) -> dict[str, _Allowed]:
        left, right = self._conditions(node.left), self._conditions(node.right)
        if len(left) == len(right) == 1 and left.keys() == right.keys():
            (column,) = left
            first, second = left[column], right[column]
            if isinstance(first, _Values) and isinstance(second, _Values):
                return {column: _Values(tuple(dict.fromkeys((*first.values, *second.values))))}
        raise refused(
            node,
            "OR can list values of one column. Ask for each side by itself, and add up what does not overlap.",
        )

    def _opposite(self, node: Node) -> dict[str, _Allowed]:
        from sqlglot import exp

        inner = node.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return {column: _read(value) for column, value in self.present(self.column(inner.this)).items()}
        if isinstance(inner, exp.Column):
            return {self.column(inner): _Values(("false",))}
        found = self._conditions(inner)
        if len(found) == 1:
            ((column, allowed),) = found.items()
            if isinstance(allowed, _Values):
                return {column: self._others(column, allowed.values, node)}
            if math.isinf(allowed.start):
                return {column: _Interval(allowed.below, math.inf)}
            if math.isinf(allowed.below):
                return {column: _Interval(-math.inf, allowed.start)}
        raise refused(node, "Write what is meant without NOT, or ask for the whole and for the part.")

    def _others(self, column: str, values: Sequence[Any], node: Node) -> _Values:
        known = self.values(column)
        if known is None:
            raise refused(
                node, f"List the values that are meant with IN: the schema has no labels for '{column}'."
            )
        left = [value for value in known if str(value) not in {str(v) for v in values}]
        if not left:
            raise refused(node, "No value is left. Correct the condition.")
        return _Values(tuple(left))

    def _ranged(self, column: str, node: Node) -> str:
        if asked_labels(self.schema[column], self.schema.folder) is not None:
            raise refused(node, f"'{column}' has labels, which have no order: list them with IN.")
        return column

    def _above(self, column: str, value: float) -> float:
        return just_above(self.schema[column], value)


def just_above(attribute: Attribute, value: float) -> float:
    """The next value that the column can have: `<= 65` is `below` it."""
    if attribute.type is AttributeType.INTEGER:
        return float(math.floor(value) + 1)
    if attribute.decimals is not None:
        return float(Decimal(str(value)) + Decimal(10) ** -attribute.decimals)
    return math.nextafter(value, math.inf)


@dataclass(frozen=True)
class _Values:
    values: tuple[Any, ...]


@dataclass(frozen=True)
class _Interval:
    start: float
    below: float


_Allowed = _Values | _Interval


def _joined(first: dict[str, _Allowed], second: dict[str, _Allowed], node: Node) -> dict[str, _Allowed]:
    found = dict(first)
    for column, allowed in second.items():
        found[column] = _narrowed(found[column], allowed, node) if column in found else allowed
    return found


def _narrowed(first: _Allowed, second: _Allowed, node: Node) -> _Allowed:
    empty = refused(node, "No record can satisfy it. Correct the condition.")
    if isinstance(first, _Interval) and isinstance(second, _Interval):
        start, below = max(first.start, second.start), min(first.below, second.below)
        if start >= below:
            raise empty
        return _Interval(start, below)
    if isinstance(first, _Interval):
        first, second = second, first
    assert isinstance(first, _Values)
    if isinstance(second, _Values):
        kept = [value for value in first.values if value in second.values]
    else:
        if any(isinstance(value, str) for value in first.values):
            raise refused(node, "A range and texts of one column do not go together: give one of the two.")
        kept = [value for value in first.values if second.start <= value < second.below]
    if not kept:
        raise empty
    return _Values(tuple(kept))


def _literal(node: Node) -> Any:
    from sqlglot import exp

    node = node.unnest()
    match node:
        case exp.Literal() if node.is_string:
            return node.this
        case exp.Literal() | exp.Neg():
            return _number(node)
        case exp.Boolean():
            return "true" if node.this else "false"
        case exp.Cast():
            return _literal(node.this)
        case exp.Null():
            raise refused(node, "Nothing equals NULL. Leave the condition out.")
        case exp.Column() if node.args.get("this") is not None and node.this.quoted:
            raise refused(node, f"Texts stand in single quotes: '{node.name}'.")
    raise refused(node, "Compare a column with a value: a text in single quotes, or a number.")


def _number(node: Node) -> Any:
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Neg):
        return -_number(node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        value = float(node.this)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    raise refused(node, "Ranges have numbers as their ends.")


def _written(allowed: _Allowed) -> Any:
    if isinstance(allowed, _Values):
        return allowed.values[0] if len(allowed.values) == 1 else list(allowed.values)
    ends = (("from", allowed.start), ("below", allowed.below))
    return {name: _plain(end) for name, end in ends if math.isfinite(end)}


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value


def _read(value: Any) -> _Allowed:
    if isinstance(value, dict):
        return _Interval(value.get("from", -math.inf), value.get("below", math.inf))
    return _Values(tuple(value) if isinstance(value, list) else (value,))
