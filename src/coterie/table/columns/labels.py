"""Labels: an Arrow column → codes of a public domain (-1 for missing) → released labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from coterie.errors import SchemaError
from coterie.schema.arrays import Codes
from coterie.schema.attributes import Attribute, AttributeType, Categories, Order
from coterie.schema.codebook import marked_by
from coterie.schema.recoded import new_labels
from coterie.schema.taxonomy.loading import declared_taxonomy
from coterie.schema.taxonomy.semantics import (
    domain_marginality,
    frequency_order,
    marginality_order,
    short_order,
)
from coterie.schema.taxonomy.tree import Edge, Taxonomy
from coterie.table.columns import cells
from coterie.table.columns.column import MISSING_LABEL as MISSING_LABEL
from coterie.table.columns.column import CategoryColumn, Semantics, released_field

_BOOLEAN = ("false", "true")


def category_column(column: pa.ChunkedArray, attribute: Attribute, folder: Path) -> CategoryColumn:
    taxonomy = _domain(attribute, folder)
    read = _reader(attribute, taxonomy, folder)
    if attribute.gaps:
        taxonomy, wider = _with_missing(taxonomy, attribute)
        read = partial(_moved, read, wider)
    codes = read(column)
    by_frequency = None
    if attribute.categories is not None and attribute.categories.order is Order.FREQUENCY:
        by_frequency = frequency_order(codes[codes >= 0], len(taxonomy.categories))
    semantics = Semantics(taxonomy, lambda found: _order(attribute, found, by_frequency), read)
    return CategoryColumn(attribute, codes, semantics, *released_labels(attribute, taxonomy.categories))


def _reader(attribute: Attribute, taxonomy: Taxonomy, folder: Path) -> Callable[[pa.ChunkedArray], Codes]:
    """Cells → codes of the labels after recoding; -1 for missing."""
    before, recode = attribute.in_file, attribute.recode
    if recode is None:
        return partial(cells.codes, labels=taxonomy.categories, attribute=attribute)
    written = _domain(before, folder)
    if recode.level is not None:
        new_of = {label: written.at_level(label, recode.level) for label in written.categories}
    else:
        new_of = new_labels(before, recode)
    read = partial(cells.codes, labels=written.categories, attribute=before)
    to = np.array(
        [*(taxonomy.categories.index(new_of[label]) for label in written.categories), -1], dtype=np.int32
    )
    return partial(_moved, read, to)


def _moved(read: Callable[[pa.ChunkedArray], Codes], to: Codes, column: pa.ChunkedArray) -> Codes:
    return to[read(column)]  # -1, a missing cell, takes the last entry


def central_code(column: CategoryColumn) -> int:
    """The code of the most central label of the domain, or of the one that the schema names."""
    label = column.attribute.impute
    if label is None:
        marginality = domain_marginality(column.distance)
        if column.gap is not None:
            marginality[column.gap] = np.inf
        return int(np.argmin(marginality))
    if str(label) in column.taxonomy.categories:
        return column.taxonomy.categories.index(str(label))
    raise SchemaError(
        f"The label to impute for '{column.attribute.name}' is not in its domain.",
        "Write one of its labels as `impute:`, or leave it out for the most central one.",
    )


def declared_labels(attribute: Attribute) -> Categories:
    attribute.require_public()
    assert attribute.categories is not None
    return attribute.categories


def _domain(attribute: Attribute, folder: Path) -> Taxonomy:
    if attribute.type is AttributeType.BOOLEAN:
        return Taxonomy.flat(_BOOLEAN)
    declared = declared_labels(attribute)
    taxonomy = declared_taxonomy(declared, folder)
    if len(taxonomy.categories) > declared.most:
        raise SchemaError(
            f"Attribute '{attribute.name}' has {len(taxonomy.categories)} labels, more than the {declared.most} allowed.",
            "Group the labels, or raise `most:` in its categories if there really are so many.",
        )
    if declared.taxonomy is not None and any(map(marked_by(attribute.missing_marks), taxonomy.categories)):
        raise SchemaError(
            f"Attribute '{attribute.name}' has a missing mark that is a category of its taxonomy.",
            "Take it out of missing_marks, or out of the taxonomy.",
        )
    return taxonomy


def _with_missing(taxonomy: Taxonomy, attribute: Attribute) -> tuple[Taxonomy, Codes]:
    """The labels with one more for missing, and the new code of each."""
    if MISSING_LABEL in taxonomy.nodes:
        raise SchemaError(
            f"Attribute '{attribute.name}' has a label '{MISSING_LABEL}' already.", "Rename that label."
        )
    labels = [*taxonomy.categories, MISSING_LABEL]
    wider = Taxonomy.build([*taxonomy.edges(), Edge(MISSING_LABEL, taxonomy.nodes[0])], labels)
    return wider, np.array([wider.categories.index(label) for label in labels], np.int32)


def _order(attribute: Attribute, semantics: Semantics, by_frequency: Codes | None) -> Codes:
    declared, taxonomy = attribute.categories, semantics.taxonomy
    if by_frequency is not None:
        return by_frequency
    if declared is None or declared.order is Order.MARGINALITY:
        return marginality_order(semantics.distance)
    if declared.order is Order.PATH:
        return short_order(semantics.distance)
    listed = [*(declared.labels or ()), MISSING_LABEL]
    return np.array(
        [taxonomy.categories.index(label) for label in listed if label in taxonomy.categories], np.int32
    )


def released_labels(
    attribute: Attribute, labels: Sequence[str]
) -> tuple[pa.Field, Callable[[Codes], pa.Array]]:
    """The field of the release, and codes as its labels; our own label for missing is a null again."""
    gaps = attribute.gaps
    shown = [None if gaps and label == MISSING_LABEL else label for label in labels]
    field = released_field(attribute, [label for label in shown if label is not None])
    values = pa.array(shown, pa.string()).cast(field.type)
    return field, lambda codes: values.take(pa.array(codes, mask=codes < 0))
