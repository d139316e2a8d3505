"""A table of every type and every policy, for engines to agree on."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.schema.attributes import (
    Attribute,
    AttributeType,
    Categories,
    Domain,
    Missing,
    Order,
    Outside,
    Role,
    Schema,
)

RECORDS = 997
LABELS = ("red", "green", "blue", "grey")


def mixed_table(records: int = RECORDS) -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(17))
    gaps = draw.random(records) < 0.05
    amounts = draw.normal(0, 1, records)
    amounts[draw.random(records) < 0.6] = -0.0  # most records share a value
    labels = np.array(LABELS, dtype=object)[draw.integers(0, 4, records)]
    return pa.table(
        {
            "id": np.arange(records),
            "amount": amounts,
            "age": pa.array(draw.integers(0, 90, records), mask=gaps),
            "born": [date(1950, 1, 1) + timedelta(days=int(d)) for d in draw.integers(0, 20_000, records)],
            "seen": [
                datetime(2020, 1, 1) + timedelta(seconds=int(s)) for s in draw.integers(0, 9e7, records)
            ],
            "colour": pa.array(labels, mask=draw.random(records) < 0.1),
            "shade": pa.array(labels, mask=draw.random(records) < 0.03),
            "grade": np.array(["low", "mid", "high"])[draw.integers(0, 3, records)],
            "member": draw.random(records) < 0.3,
            "note": [f"row {number}" for number in range(records)],
        }
    )


def mixed_schema() -> Schema:
    def protect(name: str, **more: Any) -> Attribute:
        return Attribute(name=name, role=Role.PROTECT, **more)

    categorical = AttributeType.CATEGORICAL
    return Schema(
        attributes=(
            Attribute(name="id", role=Role.IDENTIFIER),
            protect("amount", domain=Domain(lower=-2, upper=2), outside=Outside.CLIP, decimals=3),
            protect(
                "age", type=AttributeType.INTEGER, domain=Domain(lower=0, upper=99), missing=Missing.IMPUTE
            ),
            protect("born", type=AttributeType.DATE, domain=Domain(lower=-8000, upper=14_000)),
            protect("seen", type=AttributeType.TIMESTAMP, domain=Domain(lower=1.5e9, upper=1.7e9)),
            protect(
                "colour", type=categorical, categories=Categories(labels=LABELS), missing=Missing.OWN_CATEGORY
            ),
            protect(
                "shade",
                type=categorical,
                categories=Categories(labels=LABELS, order=Order.FREQUENCY),
                missing=Missing.IMPUTE,
            ),
            protect(
                "grade", type=AttributeType.ORDINAL, categories=Categories(labels=("low", "mid", "high"))
            ),
            protect("member", type=AttributeType.BOOLEAN),
            Attribute(name="note", role=Role.KEEP),
        )
    )
