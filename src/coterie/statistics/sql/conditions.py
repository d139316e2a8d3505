"""Columns, values and conditions of an SQL query → `where` of a specification."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attributes import Attribute, AttributeType, Missing, Schema
from coterie.statistics.specification.asked_values import asked_labels
from coterie.statistics.specification.filters import Between, Condition, OneOf

MOST_WHOLE_VALUES = 1000  # a column of whole numbers with a wider domain is no list of groups
Node = Any  # an expression of sqlglot, whose classes differ between its versions
Where = dict[str, Condition]


def refused(node: Node | str, advice: str) -> ParameterError:
    text = node if isinstance(node, str) else node.sql()
    short = text if len(text) <= 80 else f"{text[:77]}…"
    return ParameterError(f"SQL: `{short}` cannot become a statistic.", advice)


@dataclass(frozen=True)
class SqlNames:
    """Columns of the query are attributes of the schema, whatever their case."""

    schema: Schema

    @property
    def known(self) -> list[str]:
        return [attribute.name for attribute in self.schema.attributes]

    def column(self, node: Node) -> str:
        node = node.unnest()
        if not isinstance(node, exp.Column):
            raise refused(
                node,
                "Use a column of the table here; compute others before, and describe them in the schema.",
            )
        known = self.known
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
            return {column: Between(attribute.domain.lower, just_above(attribute, attribute.domain.upper))}
        labels = asked_labels(attribute, self.schema.folder)
        if labels is None:
            raise SchemaError(
                f"SQL: which records have a value in '{column}' cannot be said, as the schema declares none.",
                "Declare its labels or its domain in the schema, or write COUNT(*).",
            )
        return {column: OneOf(labels)}

    def where(self, node: Node) -> Where:
        """A condition as one for each column; what cannot be said so is refused."""
        node = node.unnest()
        match node:
            case exp.And():
                return both(self.where(node.left), self.where(node.right), node)
            case exp.Or():
                return self._either(node)
            case exp.Not():
                return self._opposite(node)
            case exp.Column():
                return {self.column(node): OneOf(("true",))}
            case exp.In() if node.expressions:
                return {self.column(node.this): OneOf(tuple(_literal(e) for e in node.expressions))}
            case exp.Between():
                column = self.column(node.this)
                ends = _number(node.args["low"]), self._above(column, _number(node.args["high"]))
                return {self._ranged(column, node): Between(*ends)}
            case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                return self._comparison(node)
            case exp.Is():
                if isinstance(node.expression, exp.Null):
                    raise refused(node, "Records without a value are not counted apart; leave it out.")
                return {self.column(node.this): OneOf((_literal(node.expression),))}
        advice = "Conditions are AND, =, IN, BETWEEN, <, <=, >, >= and OR over one column; list the values with IN."
        raise refused(node, advice)

    def _comparison(self, node: Node) -> Where:
        kind, left, right = type(node), node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            turned = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}
            kind, left, right = turned.get(kind, kind), right, left
        column = self.column(left)
        if kind is exp.EQ:
            return {column: OneOf((_literal(right),))}
        if kind is exp.NEQ:
            return {column: self._others(column, (_literal(right),), node)}
        self._ranged(column, node)
        value = _number(right)
        if kind is exp.GTE:
            return {column: Between(value, math.inf)}
        if kind is exp.GT:
            return {column: Between(self._above(column, value), math.inf)}
        return {column: Between(-math.inf, value if kind is exp.LT else self._above(column, value))}

    def _either(self, node: Node) -> Where:
        left, right = self.where(node.left), self.where(node.right)
        if len(left) == len(right) == 1 and left.keys() == right.keys():
            (column,) = left
            first, second = left[column], right[column]
            if isinstance(first, OneOf) and isinstance(second, OneOf):
                return {column: OneOf(tuple(dict.fromkeys((*first.values, *second.values))))}
        raise refused(
            node,
            "OR can list values of one column. Ask for each side by itself, and add up what does not overlap.",
        )

    def _opposite(self, node: Node) -> Where:
        inner = node.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return self.present(self.column(inner.this))
        if isinstance(inner, exp.Column):
            return {self.column(inner): OneOf(("false",))}
        found = self.where(inner)
        if len(found) == 1:
            ((column, allowed),) = found.items()
            if isinstance(allowed, OneOf):
                return {column: self._others(column, allowed.values, node)}
            if math.isinf(allowed.start):
                return {column: Between(allowed.below, math.inf)}
            if math.isinf(allowed.below):
                return {column: Between(-math.inf, allowed.start)}
        raise refused(node, "Write what is meant without NOT, or ask for the whole and for the part.")

    def _others(self, column: str, values: Sequence[Any], node: Node) -> OneOf:
        known = self.values(column)
        if known is None:
            raise refused(
                node, f"List the values that are meant with IN: the schema has no labels for '{column}'."
            )
        left = [value for value in known if str(value) not in {str(v) for v in values}]
        if not left:
            raise refused(node, "No value is left. Correct the condition.")
        return OneOf(tuple(left))

    def _ranged(self, column: str, node: Node) -> str:
        if asked_labels(self.schema[column], self.schema.folder) is not None:
            raise refused(node, f"SQL compares labels by the alphabet: list those of '{column}' with IN.")
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


def both(first: Where, second: Where, node: Node) -> Where:
    """Records that satisfy the two."""
    found = dict(first)
    for column, allowed in second.items():
        found[column] = _narrowed(found[column], allowed, node) if column in found else allowed
    return found


def _narrowed(first: Condition, second: Condition, node: Node) -> Condition:
    empty = refused(node, "No record can satisfy it. Correct the condition.")
    if isinstance(first, Between) and isinstance(second, Between):
        start, below = max(first.start, second.start), min(first.below, second.below)
        if start >= below:
            raise empty
        return Between(start, below)
    if isinstance(first, Between):
        first, second = second, first
    assert isinstance(first, OneOf)
    if isinstance(second, OneOf):
        kept = [value for value in first.values if value in second.values]
    else:
        numbers = [value for value in first.values if not isinstance(value, str)]
        if len(numbers) < len(first.values):
            raise refused(node, "A range and texts of one column do not go together: give one of the two.")
        kept = [value for value in numbers if second.accepts(None, value)]
    if not kept:
        raise empty
    return OneOf(tuple(kept))


def _literal(node: Node) -> Any:
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
    node = node.unnest()
    if isinstance(node, exp.Neg):
        return -_number(node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        value = float(node.this)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    raise refused(node, "Ranges have numbers as their ends.")


def written(where: Where) -> dict[str, Any]:
    """The filter as a specification has it."""
    return {column: _written(condition) for column, condition in where.items()}


def _written(allowed: Condition) -> Any:
    if isinstance(allowed, OneOf):
        return allowed.values[0] if len(allowed.values) == 1 else list(allowed.values)
    ends = (("from", allowed.start), ("below", allowed.below))
    return {name: _plain(end) for name, end in ends if math.isfinite(end)}


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value


# GROUP BY of an SQL query → the sets of columns that figures are asked for.

_Items = list[tuple[str, Node]]  # what is selected: alias, and what it stands for


def grouping_sets(query: Node, names: SqlNames) -> list[tuple[str, ...]]:
    """The sets of columns that figures are asked for, the standard's product of all elements of GROUP BY."""
    group = query.args.get("group")
    if group is None:
        return [()]
    if group.args.get("all"):
        raise refused("GROUP BY ALL", "Name the columns of the groups.")
    given = [(item.alias, item.unalias()) for item in query.expressions]
    elements = [*group.expressions]
    for part in ("rollup", "cube", "grouping_sets"):
        for element in group.args.get(part) or []:
            if element.expressions:
                elements.append(element)
            else:  # GROUP BY a, b WITH ROLLUP
                element.set("expressions", group.expressions)
                elements = [element]
    products = itertools.product(*(_element(element, given, names) for element in elements))
    found = [tuple(dict.fromkeys(itertools.chain.from_iterable(sets))) for sets in products]
    kept: dict[frozenset[str], tuple[str, ...]] = {}
    for columns in found:
        kept.setdefault(frozenset(columns), columns)
    return list(kept.values())


def _element(node: Node, given: _Items, names: SqlNames) -> list[tuple[str, ...]]:
    if isinstance(node, exp.Rollup):
        listed = [_column(part, given, names) for part in node.expressions]
        return [tuple(listed[:length]) for length in range(len(listed), -1, -1)]
    if isinstance(node, exp.Cube):
        listed = [_column(part, given, names) for part in node.expressions]
        sizes = range(len(listed), -1, -1)
        return [kept for size in sizes for kept in itertools.combinations(listed, size)]
    if isinstance(node, exp.GroupingSets):
        return [sets for part in node.expressions for sets in _element(part, given, names)]
    if isinstance(node, exp.Tuple):
        return [tuple(_column(part, given, names) for part in node.expressions)]
    return [(_column(node, given, names),)]


def _column(node: Node, given: _Items, names: SqlNames) -> str:
    node = node.unnest()
    if isinstance(node, exp.Literal) and not node.is_string and 1 <= int(node.this) <= len(given):
        node = given[int(node.this) - 1][1].unnest()
    elif isinstance(node, exp.Column):
        computed = node.name not in names.known
        named = [inner for alias, inner in given if alias and alias == node.name]
        meant = [inner for inner in named if computed or isinstance(inner, exp.Column)]
        node = meant[0] if meant else node
    if not isinstance(node, exp.Column):
        raise refused(
            node,
            "Group by columns. For bins of a number write a histogram into the specification: bins: [0, 20, 40].",
        )
    return names.column(node)
