"""Labels: an Arrow column → codes of a public domain (-1 for missing) → released labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.errors import SchemaError
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Attribute, AttributeType, Categories, Domain, Missing, Order
from coterie.schema.taxonomy.loading import declared_taxonomy
from coterie.schema.taxonomy.orders import frequency_order, short_order
from coterie.schema.taxonomy.semantics import domain_marginality, marginality_order
from coterie.schema.taxonomy.tree import Edge, Taxonomy
from coterie.table.columns import cells
from coterie.table.columns.column import CategoryColumn, Codes, NumericColumn, Semantics
from coterie.table.columns.released_type import released_field

MISSING_LABEL = "(missing)"
_BOOLEAN = ("false", "true")


def category_column(column: pa.ChunkedArray, attribute: Attribute, folder: Path) -> CategoryColumn:
    taxonomy = _domain(attribute, folder)
    codes = cells.codes(column, taxonomy.categories, attribute)
    if attribute.missing is Missing.OWN_CATEGORY:
        taxonomy, codes = _with_missing(taxonomy, codes, attribute)
    by_frequency = None
    if attribute.categories is not None and attribute.categories.order is Order.FREQUENCY:
        by_frequency = frequency_order(codes[codes >= 0], len(taxonomy.categories))
    semantics = Semantics(taxonomy, lambda found: _order(attribute, found, by_frequency))
    return CategoryColumn(attribute, codes, semantics, *_released(attribute, taxonomy.categories))


def further_codes(column: pa.ChunkedArray, like: CategoryColumn) -> Codes:
    """More of a column whose beginning is known already: the domain is not built again."""
    codes = cells.codes(column, like.taxonomy.categories, like.attribute)
    if like.attribute.missing is Missing.OWN_CATEGORY:
        codes[codes < 0] = like.taxonomy.categories.index(MISSING_LABEL)
    return codes


def ordinal_column(column: pa.ChunkedArray, attribute: Attribute) -> NumericColumn:
    """Ordered labels as ranks 0 … C-1: numbers in a public range, rounded to a rank again at the end."""
    labels = _declared(attribute).labels
    assert labels is not None  # the schema checks it
    if len(labels) < 2:
        raise SchemaError(
            f"Attribute '{attribute.name}' has fewer than two labels.", "List all labels of its domain."
        )
    codes = cells.codes(column, labels, attribute).astype(np.float64)
    codes[codes < 0] = np.nan
    field, restore = _released(attribute, labels)
    domain = Domain(lower=0, upper=len(labels) - 1)
    return NumericColumn(attribute, codes, domain, 1.0, field, lambda ranks: restore(_rank_codes(ranks)))


def _rank_codes(ranks: Floats) -> Codes:
    """The nearest rank; -1 for missing."""
    return np.where(np.isnan(ranks), -1, np.rint(np.nan_to_num(ranks))).astype(np.int32)


def filled(column: CategoryColumn, absent: NDArray[np.bool_]) -> CategoryColumn:
    """`missing: impute`: the most central label of the domain stands in, or the one that the schema names."""
    label = column.attribute.impute
    if label is None:
        code = int(np.argmin(domain_marginality(column.distance)))
    elif str(label) in column.taxonomy.categories:
        code = column.taxonomy.categories.index(str(label))
    else:
        raise SchemaError(
            f"The label to impute for '{column.attribute.name}' is not in its domain.",
            "Write one of its labels as `impute:`, or leave it out for the most central one.",
        )
    return replace(column, codes=np.where(absent, np.int32(code), column.codes))


def _declared(attribute: Attribute) -> Categories:
    attribute.require_public()
    assert attribute.categories is not None
    return attribute.categories


def _domain(attribute: Attribute, folder: Path) -> Taxonomy:
    if attribute.type is AttributeType.BOOLEAN:
        return Taxonomy.flat(_BOOLEAN)
    declared = _declared(attribute)
    taxonomy = declared_taxonomy(declared, folder)
    if len(taxonomy.categories) > declared.most:
        raise SchemaError(
            f"Attribute '{attribute.name}' has {len(taxonomy.categories)} labels, more than the {declared.most} allowed.",
            "Group the labels, or raise `most:` in its categories if there really are so many.",
        )
    return taxonomy


def _with_missing(taxonomy: Taxonomy, codes: Codes, attribute: Attribute) -> tuple[Taxonomy, Codes]:
    if MISSING_LABEL in taxonomy.nodes:
        raise SchemaError(
            f"Attribute '{attribute.name}' has a label '{MISSING_LABEL}' already.", "Rename that label."
        )
    links = zip(taxonomy.nodes, taxonomy.parents, strict=True)
    edges = [Edge(label, taxonomy.nodes[above] if above >= 0 else None) for label, above in links]
    wider = Taxonomy.build(
        [*edges, Edge(MISSING_LABEL, taxonomy.nodes[0])], [*taxonomy.categories, MISSING_LABEL]
    )
    moved = np.array(
        [wider.categories.index(label) for label in [*taxonomy.categories, MISSING_LABEL]], np.int32
    )
    return wider, moved[codes]  # code -1 takes the last entry: the missing label


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


def _released(attribute: Attribute, labels: Sequence[str]) -> tuple[pa.Field, Callable[[Codes], pa.Array]]:
    """The field of the release, and codes as its labels; our own label for missing is a null again."""
    gaps = attribute.missing is Missing.OWN_CATEGORY
    shown = [None if gaps and label == MISSING_LABEL else label for label in labels]
    field = released_field(attribute, [label for label in shown if label is not None])
    values = pa.array(shown, pa.string()).cast(field.type)
    return field, lambda codes: values.take(pa.array(codes, mask=codes < 0) if gaps else pa.array(codes))
