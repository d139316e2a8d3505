"""A synthetic population with known groups, its schema, and specifications over it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

RECORDS = 2400


@lru_cache
def population(records: int = RECORDS, seed: int = 11) -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(seed))
    region = draw.choice(["north", "south", "west"], records, p=[0.5, 0.3, 0.2])
    smoker = draw.choice(["yes", "no"], records, p=[0.25, 0.75])
    age = draw.integers(18, 90, records)
    cost = np.clip(draw.gamma(2.0, 8.0, records) + 20.0 * (smoker == "yes"), 0.0, 100.0).round(3)
    return pa.table({"region": region, "smoker": smoker, "age": age, "cost": cost})


SCHEMA: dict[str, Any] = {
    "coterie_schema": 1,
    "attributes": {
        "region": {"role": "keep"},
        "smoker": {"role": "keep"},
        "age": {"role": "protect", "type": "integer", "domain": {"lower": 0, "upper": 120}},
        "cost": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
    },
}


def document(**changes: Any) -> dict[str, Any]:
    """A small specification: two groups, their sizes, means and spreads, a t-test, a ratio, a sum."""
    content: dict[str, Any] = {
        "coterie_statistics": 1,
        "release": "costs",
        "population": "people",
        "schema": SCHEMA,
        "records": RECORDS,
        "neighbours": "replace-one",
        "budget": {"epsilon": "2"},
        "statistics": {
            "n": {"kind": "count", "by": {"smoker": ["yes", "no"]}, "expected": {"yes": 600, "no": 1800}},
            "avg": {
                "kind": "mean",
                "of": "cost",
                "by": {"smoker": ["yes", "no"]},
                "expected": {"yes": 36, "no": 16},
            },
            "sd": {
                "kind": "std",
                "of": "cost",
                "by": {"smoker": ["yes", "no"]},
                "expected": {"yes": 11, "no": 11},
            },
        },
        "equations": {
            "t": {
                "ready": "t_test",
                "of": ["avg[yes]", "sd[yes]", "n[yes]", "avg[no]", "sd[no]", "n[no]"],
            },
            "times": "avg[yes] / avg[no]",
            "everyone": "n[yes] + n[no]",
        },
    }
    content.update(changes)
    return content


# Something of every kind, with a budget so large that the noise is gone.
EVERY_KIND = document(
    budget={"epsilon": "1000000"},
    statistics={
        "n": {"kind": "count", "where": {"smoker": "yes"}, "expected": 600},
        "s": {"kind": "sum", "of": "cost", "where": {"region": ["north", "west"]}, "expected": 30000},
        "xy": {"kind": "sum", "of": ["age", "cost"], "expected": 2500000},
        "m": {
            "kind": "mean",
            "of": "cost",
            "where": {"age": {"from": 30, "below": 60}},
            "at_least": 500,
            "expected": 20,
        },
        "t": {"kind": "trimmed_mean", "of": "cost", "where": {"smoker": "yes"}, "trim": 0.2, "expected": 35},
        "u": {"kind": "count_distinct", "of": "age", "where": {"region": "west"}, "expected": 70},
        "w": {"kind": "count_distinct", "of": "region", "at_most": 20, "expected": 3},
        "v": {"kind": "variance", "of": "cost", "expected": 200},
        "d": {"kind": "std", "of": "age", "where": {"smoker": "no"}, "expected": 20},
        "p": {
            "kind": "proportion",
            "that": {"smoker": "yes"},
            "where": {"region": "south"},
            "expected": 0.25,
        },
        "q": {"kind": "median", "of": "cost", "expected": 18, "candidates": 10000},
        "q9": {"kind": "quantile", "quantile": 0.9, "of": "age", "where": {"smoker": "yes"}, "expected": 82},
        "h": {"kind": "histogram", "of": "age", "bins": [18, 40, 65, 90], "expected": {"18..40": 730}},
        "by": {
            "kind": "mean",
            "of": "age",
            "by": {"region": ["north", "south"], "smoker": ["yes"]},
            "expected": 54,
        },
    },
    equations={"r": {"formula": "s / n", "weight": 2}},
)
