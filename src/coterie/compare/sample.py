"""A synthetic table to tune on: drawn from the schema's public domains alone, so nothing about the data is in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.schema import AttributeType, Schema

# Skewed towards the low end, as amounts of money, durations and counts are.
_SHAPE = (1.0, 5.0)


def synthetic_sample(schema: Schema, records: int, seed: int = 0) -> pa.Table:
    """`records` invented rows with the schema's protected attributes, independent of one another."""
    columns: dict[str, pa.Array] = {}
    for place, attribute in enumerate(schema.protected):
        draw = np.random.Generator(np.random.PCG64([seed, place]))
        domain = attribute.bounds()
        values = domain.lower + (domain.upper - domain.lower) * draw.beta(*_SHAPE, records)
        whole = attribute.type is AttributeType.INTEGER
        columns[attribute.name] = pa.array(np.rint(values).astype(np.int64) if whole else values)
    return pa.table(columns)


def sample_schema(schema: Schema) -> Schema:
    """The same protected attributes, and nothing else."""
    return Schema(attributes=schema.protected)
