"""The values that filters ask for, seen against the schema: what each means for its column, before any data are opened.

A misspelt label would be paid for and find nobody. Whether a value occurs in the data is not public, so the schema decides.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from coterie.errors import SchemaError, nearest
from coterie.schema.attributes import Attribute, AttributeType, Missing, Schema
from coterie.schema.domain import as_number, typed_bound
from coterie.schema.taxonomy.loading import declared_taxonomy
from coterie.statistics.specification.filters import Between, Condition, Filter, OneOf, Value
from coterie.statistics.specification.specification import Specification
from coterie.table.checked import MISSING_LABEL
from coterie.table.columns.cells import canonical_number as canonical

MISSING = "\x00missing"  # no text of a file or a filter
_TRUTH = {"true": "true", "yes": "true", "1": "true", "false": "false", "no": "false", "0": "false"}


def check_asked_values(specification: Specification) -> None:
    """Refuse what no record can have, and two spellings of one label: groups that look disjoint would not be."""
    spelled: dict[tuple[str, Value, bool], Value] = {}  # a text and a number are never counted as disjoint
    for chosen in filters_of(specification):
        for column, condition in chosen.conditions:
            attribute = specification.schema[column]
            if isinstance(condition, Between):
                _check_range(attribute, condition)
                continue
            for value in condition.values:
                (meant,) = resolved(OneOf((value,)), attribute, specification.schema).values  # type: ignore[union-attr]
                if spelled.setdefault((column, meant, isinstance(value, str)), value) != value:
                    raise SchemaError(
                        f"Filters spell one value of '{column}' in two ways.",
                        "Choose one spelling everywhere.",
                    )


def filters_of(specification: Specification) -> list[Filter]:
    """Every filter that is evaluated on the records, once."""
    found = [f for s in specification.statistics for f in (s.where, s.where & (s.that or Filter()))]
    found += [f for group in specification.disjoint for f in group]
    return list(dict.fromkeys(found))


def is_labelled(attribute: Attribute, asked: set[str]) -> bool:
    """Whether a filter's column is read as labels: it has them, or texts are asked of a column without bounds."""
    if not attribute.type.ranged:
        return True
    return attribute.domain is None and attribute.type is AttributeType.CONTINUOUS and bool(asked)


def asked_texts(condition: Condition, attribute: Attribute) -> set[str]:
    """Texts that a column without declared labels is asked for."""
    if isinstance(condition, Between):
        return set()
    return {canonical(value.strip()) for value in condition.values if isinstance(value, str)}


def asked_labels(attribute: Attribute, folder: Path) -> tuple[str, ...] | None:
    """The declared labels; None where nobody declared any."""
    if attribute.type is AttributeType.BOOLEAN:
        return ("false", "true")
    if attribute.categories is None:
        return None
    if attribute.categories.labels is not None:
        return attribute.categories.labels
    return tuple(declared_taxonomy(attribute.categories, folder).categories)


def resolved(condition: Condition, attribute: Attribute, schema: Schema) -> Condition:
    """The condition in the values of the typed column: labels as declared, or numbers."""
    if isinstance(condition, Between):
        return condition
    texts = asked_texts(condition, attribute)
    if not is_labelled(attribute, texts):
        return replace(condition, values=tuple(_number(value, attribute) for value in condition.values))
    labels = asked_labels(attribute, schema.folder)
    return replace(condition, values=tuple(_label(value, attribute, labels) for value in condition.values))


def _number(value: Value, attribute: Attribute) -> Value:
    if isinstance(value, str) and value in attribute.missing_marks:
        return MISSING
    moments = attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP)
    try:
        if isinstance(value, str) and moments:
            number = as_number(typed_bound(value, timestamp=attribute.type is AttributeType.TIMESTAMP))
        else:
            number = float(value)
    except (TypeError, ValueError):
        raise SchemaError(
            f"A filter asks for '{attribute.name}' = '{value}', which is not a {attribute.type.value} value.",
            "Correct the filter, or the attribute's type.",
        ) from None
    domain = attribute.domain
    if domain is not None and not domain.lower <= number <= domain.upper:
        raise SchemaError(
            f"A filter asks for '{attribute.name}' = {value}, which lies outside its declared domain.",
            "Correct the filter, or the domain.",
        )
    return number


def _label(value: Value, attribute: Attribute, labels: tuple[str, ...] | None) -> str:
    text = value.strip() if isinstance(value, str) else canonical(repr(value))
    if text in attribute.missing_marks:
        return MISSING_LABEL if attribute.missing is Missing.OWN_CATEGORY else MISSING
    if labels is None or text in labels:
        return canonical(text) if labels is None else text
    if attribute.missing is Missing.OWN_CATEGORY and text == MISSING_LABEL:
        return MISSING_LABEL
    if attribute.type is AttributeType.BOOLEAN and text.casefold() in _TRUTH:
        return _TRUTH[text.casefold()]
    for label in labels:
        if canonical(label) == canonical(text):
            return label
    tree = attribute.categories is not None and attribute.categories.taxonomy is not None
    place = "categories of the taxonomy" if tree else "labels"
    raise SchemaError(
        f"A filter asks for '{attribute.name}' = '{text}', which is not among the {place} that the schema declares.",
        nearest(text, labels),
    )


def _check_range(attribute: Attribute, condition: Between) -> None:
    domain = attribute.domain
    if domain is not None and (condition.start > domain.upper or condition.below <= domain.lower):
        raise SchemaError(
            f"A filter asks for a range of '{attribute.name}' that lies outside its declared domain.",
            "Correct the filter, or the domain.",
        )
