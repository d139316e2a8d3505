"""Bounds that came from the data: the promise fails, and the certificate does not repeat them, until a reason is stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from statistics_people import SCHEMA, document, population

from coterie.statistics import read_specification, release


@pytest.mark.parametrize(
    ("origin", "status", "shown"),
    [
        ({}, "proved", ("0.0", "100.0")),
        ({"source": "data"}, "refuted", (None, None)),
        ({"from_data": ["upper"]}, "refuted", ("0.0", None)),
        ({"from_data": ["upper"], "public_because": "the tariff"}, "proved", ("0.0", "100.0")),
    ],
)
def test_bounds_from_the_data(
    origin: dict[str, Any], status: str, shown: tuple[str | None, str | None], tmp_path: Path
) -> None:
    cost = {"role": "protect", "domain": {"lower": 0, "upper": 100} | origin}
    schema = {"attributes": {**SCHEMA["attributes"], "cost": cost}}
    made = release(read_specification(document(schema=schema)), population(), tmp_path / "out.json")
    bounds = made.certificate.bounds["cost"]
    assert made.certificate.guarantee.status == status
    assert (bounds.lower, bounds.upper) == shown
