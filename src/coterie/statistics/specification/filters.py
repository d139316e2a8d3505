"""Which records a statistic is about: a conjunction of conditions on columns, as data and never as SQL text."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

from coterie.errors import ParameterError
from coterie.schema.domain import reads_as_number
from coterie.schema.exact import number_text

# Names that identify: equal names mean equal things. Numbers are written exactly (whole ones as such), a text that could run
# into its surroundings in quotes. So two different filters, groups or measurements never get the same name.

_LABEL = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,]+)""")
_IN_LABELS = frozenset(',"[]\\')
_IN_FILTERS = _IN_LABELS | frozenset("()|=<≤≥²·−")


def label_text(value: str | float) -> str:
    """A group's label inside name[…]; labels of several columns are joined by commas."""
    return _quoted_if(value, _IN_LABELS) if isinstance(value, str) else number_text(value)


def split_labels(text: str) -> list[str]:
    """The labels inside name[…]: each in quotes, or as it stands up to the next comma."""
    parts = (part.strip() for part in _LABEL.findall(text))
    return [json.loads(part) if part.startswith('"') else part.strip("'") for part in parts]


def filter_text(value: str | float) -> str:
    """A column or a value inside a filter. The text "1" is not the number 1, so it is quoted."""
    if not isinstance(value, str):
        return number_text(value)
    return _quoted(value) if reads_as_number(value) else _quoted_if(value, _IN_FILTERS)


def _quoted_if(text: str, special: frozenset[str]) -> str:
    plain = text.isprintable() and text == text.strip() != "" and special.isdisjoint(text)
    return text if plain and text[0] != "'" else _quoted(text)


def _quoted(text: str) -> str:
    """Quote a text as JSON does. Halves of a surrogate pair are escaped too, so that every name can be written."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


Value = str | float


@dataclass(frozen=True, slots=True)
class OneOf:
    """The column equals one of these values (texts, or numbers)."""

    values: tuple[Value, ...]

    def accepts(self, text: str | None, value: float | None) -> bool:
        return text in self.values or (value is not None and value in self.values)

    def __str__(self) -> str:
        texts = [filter_text(value) for value in self.values]
        return f"= {texts[0]}" if len(texts) == 1 else f"in ({', '.join(texts)})"


@dataclass(frozen=True, slots=True)
class Between:
    """from ≤ column < below; either end may be open."""

    start: float = -math.inf
    below: float = math.inf

    def accepts(self, text: str | None, value: float | None) -> bool:
        return value is not None and self.start <= value < self.below

    def __str__(self) -> str:
        left = f"≥ {number_text(self.start)}" if math.isfinite(self.start) else ""
        right = f"< {number_text(self.below)}" if math.isfinite(self.below) else ""
        last = number_text(math.nextafter(self.below, -math.inf))
        if right and len(last) + 2 < len(right):  # a last bin holds its end
            right = f"≤ {last}"
        return " and ".join(part for part in (left, right) if part)


Condition = OneOf | Between


@dataclass(frozen=True, slots=True)
class Filter:
    """All conditions hold; no condition means every record."""

    conditions: tuple[tuple[str, Condition], ...] = ()

    @property
    def everyone(self) -> bool:
        return not self.conditions

    def and_also(self, column: str, condition: Condition) -> Filter:
        return Filter(tuple(sorted((*self.conditions, (column, condition)), key=_order)))

    def __and__(self, other: Filter) -> Filter:
        return Filter(tuple(sorted({*self.conditions, *other.conditions}, key=_order)))

    def __str__(self) -> str:
        """Unique: different filters have different texts."""
        parts = (f"{filter_text(column)} {condition}" for column, condition in self.conditions)
        return ", ".join(parts) or "all records"


EVERYONE = Filter()


def _order(entry: tuple[str, Condition]) -> tuple[str, str]:
    return entry[0], repr(entry[1])


def read_filter(content: object, where: str) -> Filter:
    """From YAML: {smoker: "yes", region: [north, south], age: {from: 18, below: 65}}."""
    if content is None:
        return Filter()
    if not isinstance(content, dict):
        raise ParameterError(f"{where}: `where` must be a mapping.", 'Write where: {smoker: "yes"}.')
    result = Filter()
    for column, condition in content.items():
        result = result.and_also(str(column), _condition(condition, f"{where}, column '{column}'"))
    return result


def read_value(value: object, where: str) -> Value:
    if isinstance(value, bool):
        raise ParameterError(
            f"{where}: YAML read a bare yes, no, true or false as a truth value.",
            'Put it in quotes as it stands in the data: "yes".',
        )
    if isinstance(value, int | float) and math.isfinite(value):
        return _exact(value, where)
    if isinstance(value, str):
        return value
    raise ParameterError(f"{where}: a filter value must be a text or a number.", "Correct that entry.")


def _exact(value: float, where: str) -> float:
    """Require a number that a double equals: another whole number would stand for its neighbour."""
    if isinstance(value, int) and int(float(value)) != value:
        raise ParameterError(
            f"{where}: the number {value} is too long to be compared exactly.",
            f'Write it in quotes, as a label: "{value}".',
        )
    return float(value) + 0.0  # no negative zero: it equals zero


def _condition(content: object, where: str) -> Condition:
    if isinstance(content, dict):
        unknown = set(content) - {"from", "below"}
        if unknown or not content:
            raise ParameterError(f"{where}: a range has `from` and `below`.", "Write {from: 18, below: 65}.")
        start, below = (
            read_value(content.get(key, default), where)
            for key, default in (("from", -1.7e308), ("below", 1.7e308))
        )
        if not isinstance(start, float) or not isinstance(below, float):
            raise ParameterError(f"{where}: the ends of a range must be numbers.", "Correct that entry.")
        if start >= below:
            raise ParameterError(f"{where}: the range holds nothing.", "`from` must be smaller than `below`.")
        return Between(-math.inf if start < -1.6e308 else start, math.inf if below > 1.6e308 else below)
    if isinstance(content, list):
        if not content:
            raise ParameterError(f"{where}: the list of values is empty.", "Name at least one value.")
        return OneOf(tuple(dict.fromkeys(read_value(value, where) for value in content)))
    return OneOf((read_value(content, where),))
