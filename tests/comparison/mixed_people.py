"""A small mixed table, invented here: skewed and tied numbers, dates, ranks and categories in a tree."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.schema.attributes import Schema

SCHEMA = """
coterie_schema: 1
attributes:
  person: {role: identifier}
  income: {type: continuous, role: protect, domain: {lower: 0, upper: 200000}, decimals: 2}
  age: {type: integer, role: protect, domain: {lower: 0, upper: 120}}
  height: {type: continuous, role: protect, domain: {lower: 0, upper: 3}, weight: 2}
  since: {type: date, role: protect, domain: {lower: 2000-01-01, upper: 2026-12-31}}
  grade: {type: ordinal, role: protect, categories: {labels: [low, middle, high]}}
  job: {type: categorical, role: protect, categories: {taxonomy: "adult:occupation"}}
  colour: {type: categorical, role: protect, categories: {labels: [red, green, blue, grey]}}
  group: {role: keep, type: categorical}
"""
JOBS = ("Sales", "Tech-support", "Craft-repair", "Exec-managerial", "Farming-fishing")


def mixed_schema() -> Schema:
    return Schema.load(SCHEMA)


def mixed_table(records: int = 120, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    income = np.clip(np.round(draw.lognormal(9, 1, records), 2), 0, 200_000)
    return pa.table(
        {
            "person": [f"P{i}" for i in range(records)],
            "income": income,
            "age": draw.integers(18, 90, records),
            "height": draw.normal(1.7, 0.1, records),
            "since": pa.array(draw.integers(11_000, 20_000, records).astype(np.int32), pa.int32()).cast(
                pa.date32()
            ),
            "grade": draw.choice(["low", "middle", "high"], records),
            "job": draw.choice(JOBS, records),
            "colour": draw.choice(["red", "green", "blue"], records),
            "group": np.where(income > np.median(income), "b", "a"),
        }
    )
