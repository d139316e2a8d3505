"""`records` is exact under replace-one alone: under add-remove nothing released is fitted to it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coterie.errors import DataError
from coterie.statistics import plan, read_specification, release
from coterie.statistics.prediction.derivation import domain_of

TABLE = pa.table({"g": ["a"] * 400 + ["b"] * 100, "x": [30.0] * 500})


def _document(neighbours: str, records: int | None, **more: Any) -> dict[str, Any]:
    return {
        "coterie_statistics": 1,
        "release": "r",
        "population": "p",
        "schema": {
            "coterie_schema": 1,
            "attributes": {
                "g": {"role": "keep"},
                "x": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
            },
        },
        "neighbours": neighbours,
        "budget": {"epsilon": "1"},
        "statistics": {"n": {"kind": "count", "by": {"g": ["a", "b"]}, "complete": True}, **more},
        **({} if records is None else {"records": records}),
    }


def _values(document: dict[str, Any], folder: Path) -> dict[str, dict[str, float]]:
    folder.mkdir(parents=True)
    made = release(read_specification(document), TABLE, folder / "out.csv", seed=7)
    rows = csv.DictReader(io.StringIO(made.content.decode()))
    return {row["name"]: {key: float(row[key]) for key in ("value", "lower_95", "upper_95")} for row in rows}


@pytest.mark.parametrize("records", [None, 100, 500, 10_000])
def test_add_remove_counts_do_not_follow_the_planning_figure(records: int | None, tmp_path: Path) -> None:
    """Was: truth 400 and 100 released as 5148 and 4851 with records: 10000."""
    more = {
        "all": {"kind": "count"},
        "total": {"kind": "sum", "of": "x", "by": {"g": ["a", "b"]}, "complete": True},
    }
    for extra in ({}, more, {"total": more["total"]}):
        found = _values(
            _document("add-remove", records, **extra), tmp_path / f"{records}{len(extra)}{'all' in extra}"
        )
        truth = {"n[a]": 400, "n[b]": 100, "all": 500, "total[a]": 12000, "total[b]": 3000}
        for name, row in found.items():
            unit = 100 if name.startswith("total") else 1
            assert abs(row["value"] - truth[name]) < 60 * unit, (name, row)
            assert row["lower_95"] <= row["value"] <= row["upper_95"]
            assert row["upper_95"] - row["lower_95"] < 60 * unit


def test_every_use_of_records_under_add_remove_is_planning() -> None:
    """No constraint, no clamp and no formula holds the figure."""
    document = _document(
        "add-remove",
        7777,
        avg={"kind": "mean", "of": "x", "route": "sums"},
        all={"kind": "count"},
        part={"kind": "proportion", "that": {"g": "a"}},
        total={"kind": "sum", "of": "x"},
    )
    specification = read_specification(document)
    chosen = plan(specification, report_losses=False)
    assert specification.size is None
    assert all(group.records is None for group in chosen.design.groups)
    assert "7777" not in repr(chosen.design.statistics)
    assert not any(domain_of(specification, s).upper == 7777 for s in specification.statistics)
    assert any("planning only" in warning for warning in chosen.warnings)


def test_replace_one_groups_add_up_to_the_public_number(tmp_path: Path) -> None:
    found = _values(_document("replace-one", 500), tmp_path / "r")
    assert found["n[a]"]["value"] + found["n[b]"]["value"] == pytest.approx(500)
    with pytest.raises(DataError, match="another number of records"):
        _values(_document("replace-one", 501), tmp_path / "s")
