"""The values that filters and groups ask for, seen against the schema: what each means for its column.

Nothing here opens any data.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from coterie.errors import SchemaError, nearest
from coterie.schema.attributes import Attribute, AttributeType, Schema
from coterie.schema.codebook import canonical_number as canonical
from coterie.schema.codebook import marked_by
from coterie.schema.domain import as_number, typed_bound
from coterie.schema.taxonomy.loading import declared_taxonomy
from coterie.statistics.prediction.value_grid import ValueGrid
from coterie.statistics.specification.filters import Between, Condition, Filter, OneOf, Value, filter_text
from coterie.table.checked import step_of
from coterie.table.columns.labels import MISSING_LABEL

MISSING = "\x00missing"  # no text of a file or a filter
_MOMENTS = (AttributeType.DATE, AttributeType.TIMESTAMP)
_TRUTH = {"true": "true", "yes": "true", "1": "true", "false": "false", "no": "false", "0": "false"}


def is_labelled(attribute: Attribute, asked: set[Value]) -> bool:
    """Whether a filter's column is read as labels: it has them, or texts are asked of a column without bounds."""
    if not attribute.type.ranged:
        return True
    texts = any(isinstance(value, str) for value in asked)
    return attribute.domain is None and attribute.type is AttributeType.CONTINUOUS and texts


def asked_values(condition: Condition) -> set[Value]:
    """What a column without declared labels is asked for."""
    return set() if isinstance(condition, Between) else set(condition.values)


def as_label(value: Value) -> str:
    """A value that is asked for, as the text of a cell."""
    return canonical(value.strip() if isinstance(value, str) else repr(value))


def asked_labels(attribute: Attribute, folder: Path) -> tuple[str, ...] | None:
    """The declared labels; None where nobody declared any."""
    if attribute.type is AttributeType.BOOLEAN:
        return ("false", "true")
    if attribute.categories is None:
        return None
    if attribute.categories.labels is not None:
        return attribute.categories.labels
    return tuple(declared_taxonomy(attribute.categories, folder).categories)


def only_labels(attribute: Attribute, schema: Schema) -> frozenset[str] | None:
    """The labels of which every record has one, because a table with any other value is refused."""
    labels = None if attribute.gaps or not attribute.is_protected else asked_labels(attribute, schema.folder)
    return None if labels is None else frozenset(labels)


def only_values(attribute: Attribute, schema: Schema) -> frozenset[str] | tuple[float, float, bool] | None:
    """The values of which every record has one: labels, or numbers between two ends (and whether they are whole)."""
    labels, domain = only_labels(attribute, schema), attribute.domain
    if labels is not None or domain is None or attribute.gaps or not attribute.is_protected:
        return labels
    return domain.lower, domain.upper, attribute.type is AttributeType.INTEGER


def one_spelling(chosen: Filter, schema: Schema) -> Filter:
    """The filter with labels as texts and numbers as numbers, however they were written: equal ones are equal then."""

    def spelled(value: Value, attribute: Attribute, *, labelled: bool) -> Value:
        code = attribute.codes_by_words.get(str(value)) if labelled else None
        if code is not None and code in (asked_labels(attribute, schema.folder) or ()):
            return code
        if value in attribute.missing_marks or isinstance(value, str) == labelled:
            return value
        if labelled:
            return _asked_label(value, attribute, asked_labels(attribute, schema.folder))
        return value if attribute.type in _MOMENTS else _asked_number(value, attribute)

    found = []
    for column, condition in chosen.conditions:
        if isinstance(condition, OneOf):
            attribute = schema[column]
            labelled = is_labelled(attribute, asked_values(condition))
            values = [spelled(value, attribute, labelled=labelled) for value in condition.values]
            condition = OneOf(tuple(dict.fromkeys(values)))
        found.append((column, condition))
    return Filter(tuple(found)) & Filter()  # in the order that makes equal ones equal


def resolved(condition: Condition, attribute: Attribute, schema: Schema) -> Condition:
    """The condition in the values of the typed column: labels as declared, or numbers."""
    if isinstance(condition, Between):
        return condition
    if not is_labelled(attribute, asked_values(condition)):
        return replace(condition, values=tuple(_asked_number(value, attribute) for value in condition.values))
    labels = asked_labels(attribute, schema.folder)
    return replace(
        condition, values=tuple(_asked_label(value, attribute, labels) for value in condition.values)
    )


def _asked_number(value: Value, attribute: Attribute) -> Value:
    if isinstance(value, str) and value in attribute.missing_marks:
        return MISSING
    moments = attribute.type in _MOMENTS
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
            f"A filter asks for '{attribute.name}' = {filter_text(value)}, which lies outside its declared domain.",
            "Correct the filter, or the domain.",
        )
    if attribute.type is AttributeType.INTEGER and not number.is_integer():
        raise SchemaError(
            f"A filter asks for '{attribute.name}' = {filter_text(value)}, but it has whole numbers only: nobody matches.",
            "Write a whole number, or a range: {from: …, below: …}.",
        )
    return number


def _asked_label(value: Value, attribute: Attribute, labels: tuple[str, ...] | None) -> str:
    text = value.strip() if isinstance(value, str) else canonical(repr(value))
    if text not in (labels or ()):  # a code may be named by its words
        text = attribute.codes_by_words.get(text, text)
    if marked_by(attribute.missing_marks)(text):
        return MISSING_LABEL if attribute.gaps else MISSING
    if labels is None or text in labels:
        return canonical(text) if labels is None else text
    if attribute.gaps and text == MISSING_LABEL:
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


def number_of_values(attribute: Attribute, schema: Schema) -> int | None:
    """How many different values the column can have, as far as the schema tells; None: nobody has said."""
    labels = asked_labels(attribute, schema.folder)
    if labels is not None:
        return len(labels) + attribute.gaps
    if attribute.domain is None or step_of(attribute) is None:
        return None
    return ValueGrid.of_attribute(attribute).steps + 1
