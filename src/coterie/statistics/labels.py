"""Are the values that filters ask for among the declared labels? A misspelt one would be paid for and find nobody.

This is answered from the schema alone: whether a value occurs in the data is not public.
"""

from __future__ import annotations

from collections.abc import Iterator

from coterie.errors import SchemaError, nearest
from coterie.schema import Attribute, AttributeType
from coterie.statistics.filters import Filter, OneOf, Value
from coterie.statistics.names import label_text
from coterie.statistics.specification import Specification, Statistic
from coterie.taxonomy.declared import declared_taxonomy


def check_labels(specification: Specification) -> None:
    """Refuse a value that the schema's list of labels, or its taxonomy, does not have."""
    known: dict[str, tuple[str, ...]] = {}  # a taxonomy is a file: read it once
    for statistic in specification.statistics:
        for attribute, value in _asked(specification, statistic):
            if attribute.categories is None:
                continue
            if attribute.name not in known:
                known[attribute.name] = tuple(
                    declared_taxonomy(attribute.categories, specification.schema.folder).categories
                )
            labels = known[attribute.name]
            if _is_label(value, (*labels, *attribute.missing_marks)):
                continue
            shown = label_text(value)
            place = "labels" if attribute.categories.taxonomy is None else "categories of the taxonomy"
            raise SchemaError(
                f"Statistic '{statistic.name}' asks for '{attribute.name}' = '{shown}', which is not among the "
                f"{place} that the schema declares.",
                nearest(shown, labels),
            )


def unchecked_columns(specification: Specification) -> list[str]:
    """Columns filtered by a text of which nobody has declared the labels."""
    return sorted(
        {
            attribute.name
            for statistic in specification.statistics
            for attribute, value in _asked(specification, statistic)
            if isinstance(value, str) and attribute.categories is None and not _is_truth(attribute, value)
        }
    )


def _is_truth(attribute: Attribute, value: str) -> bool:
    """A boolean has its two labels by itself; nobody can declare them."""
    return attribute.type is AttributeType.BOOLEAN and value in ("true", "false")


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
