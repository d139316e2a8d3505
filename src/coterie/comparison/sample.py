"""A synthetic table to tune on: drawn from the schema's public domains alone, so nothing about the data is in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from coterie.schema.attributes import Attribute, AttributeType, Schema
from coterie.schema.taxonomy.loading import declared_taxonomy

# Skewed towards the low end, as amounts of money, durations and counts are.
_SHAPE = (1.0, 5.0)


def synthetic_sample(schema: Schema, records: int, seed: int = 0) -> pa.Table:
    """`records` invented rows with the schema's protected attributes, independent of one another."""
    columns: dict[str, pa.Array] = {}
    for place, attribute in enumerate(schema.protected):
        draw = np.random.Generator(np.random.PCG64([seed, place]))
        if attribute.type.ranged:
            columns[attribute.name] = _numbers(attribute, draw.beta(*_SHAPE, records))
        else:
            labels = np.array(_labels(attribute, schema.folder), dtype=object)
            # Low codes are the likelier ones: real categories are never equally frequent.
            codes = (draw.beta(*_SHAPE, records) * len(labels)).astype(np.int64)
            columns[attribute.name] = pa.array(labels[codes])
    return pa.table(columns)


def sample_schema(schema: Schema) -> Schema:
    """The same protected attributes, and nothing else."""
    rest = Schema(attributes=schema.protected)
    rest._folder = schema.folder
    return rest


def _numbers(attribute: Attribute, place: np.ndarray) -> pa.Array:
    domain = attribute.bounds()
    values = domain.lower + (domain.upper - domain.lower) * place
    if attribute.type is AttributeType.CONTINUOUS:
        return pa.array(values)
    whole = np.rint(values).astype(np.int64)
    if attribute.type is AttributeType.DATE:
        return pa.array(whole.astype(np.int32)).cast(pa.date32())
    if attribute.type is AttributeType.TIMESTAMP:
        return pa.array(whole).cast(pa.timestamp("s"))
    return pa.array(whole)


def _labels(attribute: Attribute, folder: Path) -> tuple[str, ...]:
    declared = attribute.categories
    if attribute.type is AttributeType.BOOLEAN or declared is None:
        return ("false", "true")
    return tuple(declared_taxonomy(declared, folder).categories)
