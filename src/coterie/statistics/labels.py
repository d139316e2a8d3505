"""Are the values that filters ask for among the declared labels? A misspelt one would be paid for and find nobody.

This is answered from the schema alone: whether a value occurs in the data is not public.
"""

from __future__ import annotations

from collections.abc import Iterator

from coterie.errors import SchemaError, nearest
from coterie.schema import Attribute
from coterie.statistics.filters import Filter, OneOf, Value
from coterie.statistics.specification import Specification, Statistic


def check_labels(specification: Specification, statistic: Statistic) -> None:
    """Refuse a value that the schema's list of labels does not have."""
    for attribute, value in _asked(specification, statistic):
        labels = attribute.categories.labels if attribute.categories else None
        if labels is None or _is_label(value, (*labels, *attribute.missing_marks)):
            continue
        shown = value if isinstance(value, str) else f"{value:g}"
        raise SchemaError(
            f"Statistic '{statistic.name}' asks for '{attribute.name}' = '{shown}', which is not among the "
            "labels that the schema declares.",
            nearest(shown, labels),
        )


def unchecked_columns(specification: Specification) -> list[str]:
    """Columns filtered by a text of which nobody has declared the labels."""
    return sorted(
        {
            attribute.name
            for statistic in specification.statistics
            for attribute, value in _asked(specification, statistic)
            if isinstance(value, str) and attribute.categories is None
        }
    )


def _asked(specification: Specification, statistic: Statistic) -> Iterator[tuple[Attribute, Value]]:
    chosen = statistic.where & (statistic.that or Filter())
    for column, condition in chosen.conditions:
        if isinstance(condition, OneOf):
            for value in condition.values:
                yield specification.schema[column], value


def _is_label(value: Value, labels: tuple[str, ...]) -> bool:
    if isinstance(value, str):
        return value in labels
    return any(_number(label) == value for label in labels)  # 3 in a filter means the label "3"


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None
