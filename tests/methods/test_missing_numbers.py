"""Numbers that are missing are an outcome of dp-synthetic, and everything that looks at its rows must take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coterie

SCHEMA: dict[str, Any] = {
    "attributes": {
        "age": {"type": "integer", "role": "protect", "domain": {"lower": 18, "upper": 90}},
        "income": {
            "type": "integer",
            "role": "protect",
            "domain": {"lower": 0, "upper": 100_000},
            "missing": "own category",
        },
        "school": {
            "type": "ordinal",
            "role": "protect",
            "categories": {"labels": ["low", "mid", "high"]},
            "missing": "own category",
        },
    }
}


def people(records: int = 400) -> pa.Table:
    draw = np.random.default_rng(3)
    income = [
        None if gap else int(x)
        for gap, x in zip(draw.random(records) < 0.2, draw.uniform(0, 9e4, records), strict=True)
    ]
    school = [
        None if gap else x
        for gap, x in zip(
            draw.random(records) < 0.1, draw.choice(["low", "mid", "high"], records), strict=True
        )
    ]
    return pa.table({"age": draw.integers(18, 91, records), "income": income, "school": school})


@pytest.fixture(scope="module")
def release() -> coterie.Release:
    return coterie.protect(people(), SCHEMA, method="dp-synthetic", epsilon=4, seed=1)


def test_every_measure_takes_them(release: coterie.Release) -> None:
    found = coterie.evaluate(people(), release, SCHEMA).measures
    for name, result in found.items():
        expected = ("linked rows", "related, neither", "not even from the original", "--target")
        assert result.value is not None or any(said in str(result.reason) for said in expected), name
        assert all(np.isfinite(value) for value in result.attributes.values()), name
    # The same rows are at distance 0 from themselves, gaps included.
    same = coterie.evaluate(people(), people(), SCHEMA, shuffled=True).measures
    assert {result.value for result in same.values() if result.value is not None} == {0.0}


def test_more_rows_than_people(release: coterie.Release) -> None:
    """Every row three times is the same distribution, so every measure must read the same."""
    thrice = pa.concat_tables([release.table] * 3)
    many, once = (
        coterie.evaluate(people(), rows, SCHEMA, shuffled=True).measures for rows in (thrice, release)
    )
    for name, result in once.items():
        if result.value is not None:
            assert many[name].value == pytest.approx(result.value, rel=0.01, abs=0.003), (
                name
            )  # n − 1 and 3n − 1


def test_an_audit_takes_them(release: coterie.Release) -> None:
    audit = coterie.audit(people(), release, SCHEMA, seconds=5)
    assert audit.findings


def test_a_comparison_and_its_report_take_them(tmp_path: Path) -> None:
    comparison = coterie.compare(people(), SCHEMA, methods=["dp-synthetic"], epsilon=4, runs=1)
    assert np.isfinite(comparison.to_frame("pandas")["jensen-shannon"]).all()
    coterie.write_report(comparison, tmp_path / "report", audit_seconds=None)
    page = (tmp_path / "report" / "report.html").read_text()
    assert "income: 73 missing, then" in page
    assert "missing, then" in page
    assert "tells worst" in page
    assert "age × income" in page
