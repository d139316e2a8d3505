"""The papers' tables and domains: which attributes, which rows, and bounds of α times the largest value.

All papers take [0, α·max] with the maximum of the data itself (Soria-Comas et al., §4, Sánchez et al. 2016, §4.1, Del
Vasto-Terrientes et al., §5, Sánchez et al. (univariate), §5). Such bounds disclose the maximum; the schemas made here say
so (`source: data`), and so does every certificate made with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.papers.data import load
from coterie.schema.attributes import (
    Attribute,
    AttributeType,
    Categories,
    Domain,
    Order,
    Role,
    Schema,
    Source,
)

CENSUS_SORIA_COMAS = (
    "AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "STATETAX", "TAXINC", "POTHVAL", "INTVAL", "FICA",
)  # fmt: skip
ADULT_FRAGMENTED = (
    "age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex",
    "hours-per-week", "native-country",
)  # fmt: skip


def bounded(name: str, table: pa.Table, alpha: float, *, whole: bool = False) -> Attribute:
    upper = alpha * float(pc.max(table.column(name)).as_py())
    kind = AttributeType.INTEGER if whole else AttributeType.CONTINUOUS
    domain = Domain(lower=0, upper=float(np.ceil(upper)) if whole else upper, source=Source.DATA)
    return Attribute(name=name, type=kind, role=Role.PROTECT, domain=domain)


def numeric_schema(table: pa.Table, *, alpha: float) -> Schema:
    return Schema(attributes=tuple(bounded(name, table, alpha) for name in table.column_names))


def census(names: Sequence[str] | None = None) -> pa.Table:
    table = load("census")
    return table.select(list(names)) if names else table


def white_wine() -> pa.Table:
    return load("wine-white")


def both_wines() -> pa.Table:
    """Del Vasto-Terrientes et al., §5.1: red and white together, without the quality score."""
    return pa.concat_tables([load("wine-red"), load("wine-white")]).drop_columns(["quality"])


def adult(parts: Sequence[str] = ("adult-train",)) -> pa.Table:
    """Rows without a missing value: 30,162 in the training part, 45,222 in both."""
    table = pa.concat_tables([load(part) for part in parts])
    present = [pc.not_equal(c, "?") for c in table.columns if pa.types.is_string(c.type)]
    return table.filter(reduce(pc.and_, present))


def adult_sanchez_2016_schema(table: pa.Table) -> Schema:
    """Sánchez et al. 2016, §4.1: two numbers, discretised, and two categories. Taxonomies are our own trees, not
    WordNet's."""
    categories = tuple(
        Attribute(
            name=name,
            type=AttributeType.CATEGORICAL,
            role=Role.PROTECT,
            categories=Categories(taxonomy=f"adult:{name}"),
        )
        for name in ("occupation", "native-country")
    )
    numbers = tuple(bounded(name, table, 1.5, whole=True) for name in ("age", "hours-per-week"))
    return Schema(attributes=(*numbers, *categories))


def adult_fragmented_schema(table: pa.Table, alpha: float = 2.0) -> Schema:
    """Del Vasto-Terrientes et al., §5.1: categories become ranks by frequency, averaged and perturbed as numbers, then
    rounded."""
    attributes = []
    for name in ADULT_FRAGMENTED:
        if name in ("age", "hours-per-week"):
            attributes.append(bounded(name, table, alpha, whole=True))
            continue
        ranked = by_frequency(table.column(name))
        kind, role = AttributeType.ORDINAL, Role.PROTECT
        attributes.append(Attribute(name=name, type=kind, role=role, categories=ranked))
    return Schema(attributes=tuple(attributes))


def by_frequency(column: pa.ChunkedArray, labels: Sequence[str] = ()) -> Categories:
    """The labels in the order of their frequency; `labels` that do not occur come last."""
    counts = dict.fromkeys(labels, 0)
    counts |= {str(entry["values"]): entry["counts"] for entry in column.value_counts().to_pylist()}
    ranked = sorted(counts, key=lambda label: (-counts[label], label))
    return Categories(labels=tuple(ranked), source=Source.DATA, order=Order.LISTED)
