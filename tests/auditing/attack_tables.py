"""Tables for the tests of attacks: small, drawn here, with public bounds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from coterie import Schema

LABELS = ["red", "green", "blue", "grey"]


def normals(rows: int, attributes: int, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    values = np.clip(0.6 * draw.normal(size=(rows, 1)) + 0.8 * draw.normal(size=(rows, attributes)), -6, 6)
    return pa.table({f"a{place}": values[:, place] for place in range(attributes)})


def normals_schema(attributes: int) -> Schema:
    entry = {"type": "continuous", "role": "protect", "domain": {"lower": -6, "upper": 6}}
    return Schema.load({"attributes": {f"a{place}": entry for place in range(attributes)}})


def mixed(rows: int, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 90, rows)
    colour = np.where(age > 50, draw.choice(LABELS[:2], rows), draw.choice(LABELS[2:], rows))
    return pa.table(
        {
            "name": [f"person {seed} {number}" for number in range(rows)],
            "age": age,
            "income": np.round(draw.lognormal(10, 0.6, rows).clip(0, 400_000), 2),
            "colour": colour,
            "town": draw.choice(["A", "B", "C"], rows),
        }
    )


def mixed_schema() -> Schema:
    return Schema.load(
        {
            "attributes": {
                "name": {"role": "identifier"},
                "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}},
                "income": {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 400_000}},
                "colour": {"type": "categorical", "role": "protect", "categories": {"labels": LABELS}},
                "town": {"type": "categorical", "role": "keep"},
            }
        }
    )


def real_data(name: str) -> Path:
    """A file of the shared data folder; tests skip visibly where it is absent."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("COTERIE_DATA", beside)) / name
    if not path.exists():
        pytest.skip(f"{name} is not here: set COTERIE_DATA to the folder that holds it")
    return path
