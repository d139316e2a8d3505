"""Raw measurements: what was drawn, described so that others can use it; the same draw, certified, whole or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from statistics_people import document, population

from coterie import make_key, verify
from coterie.errors import OutputError
from coterie.publication.ledger import Ledger
from coterie.statistics import Plan, plan, read_specification, release
from coterie.statistics.planning.composition import as_floats
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.releasing import publishing
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.raw_measurements import atom_labels, raw_bytes
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import add_noise, evaluate, make_release
from coterie.statistics.specification.cells import Cells
from coterie.statistics.specification.filters import Between, Filter, OneOf

SIZES = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 60}


def people() -> pa.Table:
    group = np.repeat(list(SIZES), list(SIZES.values()))
    return pa.table({"g": group, "s": np.where(np.arange(len(group)) % 2, "m", "f")})


def planned(statistics: dict[str, Any], **more: Any) -> Plan:
    kept = {"g": {"role": "keep"}, "s": {"role": "keep"}, "x": {"role": "keep", "type": "integer"}}
    content = {
        "release": "r",
        "population": "p",
        "schema": {"attributes": kept},
        "neighbours": "add-remove",
        "budget": {"epsilon": "0.5"},
        "statistics": statistics,
        **more,
    }
    return plan(read_specification(content), "square-root", report_losses=False)


def document_of(chosen: Plan, records: pa.Table, seed: int = 1) -> dict[str, Any]:
    made = make_release(chosen, open_records(records), Noise.seeded(seed))
    return dict(json.loads(raw_bytes(made, {})))


def test_the_mean_of_raw_measurements_is_the_truth_and_that_of_published_counts_is_not() -> None:
    """4,000 seeded releases: raw means within four standard errors of 0 to 3; published ones far above.

    A right mean fails with probability 6e-5 per cell (fixed seed). The published means must be off by ten standard errors.
    """
    runs = 4000
    chosen = planned({"n": {"kind": "count", "by": {"g": list(SIZES)}}}, budget={"epsilon": "0.2"})
    design = chosen.design
    exact = compute(design, open_records(people()))
    noisy = add_noise(design, exact, chosen.budgets, Noise.seeded(7), releases=runs)
    published = evaluate(design, design.reconstruction(as_floats(chosen.budgets)).fitted(noisy))[0]
    first = document_of(chosen, people(), seed=7)["measurements"]
    names = [row["measured"] for m in first for row in m["rows"]]
    for label in "abcd":
        drawn = noisy[:, names.index(f"count | g = {label}")]
        error = drawn.std() / np.sqrt(runs)
        assert abs(drawn.mean() - SIZES[label]) < 4 * error, label
        assert published[f"n[{label}]"].mean() - SIZES[label] > 10 * error, label


@pytest.mark.parametrize("budget", [{"epsilon": "1"}, {"rho": "0.5"}])
@pytest.mark.parametrize("strategy", ["cells", "margins", "ranges", "single"])
def test_weights_and_cells_say_what_was_measured(strategy: str, budget: dict[str, str]) -> None:
    """Without its noise, every row is the weighted sum of the cells as anybody can count them."""
    ranges = {f"r{i}": {"kind": "count", "where": {"x": {"from": 0, "below": i}}} for i in range(1, 9)}
    both = {"kind": "count", "by": {"g": list(SIZES), "s": ["m", "f"]}}
    asked: dict[str, dict[str, Any]] = {
        "cells": {"n": both},
        "margins": {
            "n": {**both, "weight": 0.1},
            "g": {"kind": "count", "by": {"g": list(SIZES)}, "weight": 9},
        },
        "ranges": ranges,
        "single": {"n": {"kind": "count", "where": {"s": "m"}}},
    }
    records = people().append_column("x", pa.array(np.arange(66) % 10))
    chosen = planned(asked[strategy], budget=budget)
    source = open_records(records)
    made = make_release(chosen, source, Noise.seeded(1))
    rows = [np.atleast_1d(exact) for exact in compute(chosen.design, source).values()]
    units = [
        np.full(len(row), float(m.unit)) for row, m in zip(rows, chosen.design.measurements, strict=True)
    ]
    quiet = replace(made, noisy=np.concatenate(rows) * np.concatenate(units))
    frame = records.to_pylist()
    found = json.loads(raw_bytes(quiet, {}))["measurements"]
    for m in found:
        for row in m["rows"]:
            total = 0.0
            for cell, weight in row["weights"]:
                described = dict(zip(m["columns"], m["cells"][cell], strict=True))
                total += weight * sum(all(_is_in(r[c], v, m, c) for c, v in described.items()) for r in frame)
            assert row["value"] == pytest.approx(total, abs=0.01), row["measured"]
    for m, budgeted in zip(found, chosen.budgets, strict=True):
        assert m["budget"].endswith(str(float(budgeted)).removesuffix(".0"))
        assert m["scale"] > 0
        assert m["standard_deviation"] >= (m["scale"] if "rho" in budget else 1.3 * m["scale"])


def _is_in(value: Any, label: str, m: dict[str, Any], column: str) -> bool:
    """Whether a value of the data is meant by the label of a cell."""
    if label != "(other)":
        if ".." in label:
            low, high = map(float, label.split(".."))
            return low <= value < high
        return str(value) == label
    place = m["columns"].index(column)
    named = {cell[place] for cell in m["cells"]} - {"(other)"}
    return not any(_is_in(value, other, m, column) for other in named)


def test_pieces_of_a_column_are_named_by_what_they_hold() -> None:
    filters = [
        Filter().and_also("x", Between(0.0, 10.0)),
        Filter().and_also("x", Between(5.0, 20.0)),
        Filter().and_also("x", OneOf((7.0,))),
        Filter().and_also("y", OneOf(("a", "b"))),
    ]
    cells = Cells.of(filters)
    assert cells is not None
    x, y = (atom_labels(axis) for axis in cells.axes)
    assert {"0..5", "5..10", "10..20", "7", "(other)"} <= set(x)
    assert set(y) == {"a or b", "(other)"}


@pytest.mark.parametrize("paid", [False, True])
def test_asked_for_now_or_later_it_is_the_same_draw_and_certified(tmp_path: Path, paid: bool) -> None:
    specification = read_specification(document())
    ledger = tmp_path / "ledger.sqlite" if paid else None
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", "10")
    release(specification, population(), tmp_path / "a.csv", ledger=ledger)
    later = release(specification, population(), tmp_path / "a.csv", ledger=ledger, raw=tmp_path / "raw.json")
    both = release(
        specification, population(), tmp_path / "b.parquet", ledger=ledger, raw=tmp_path / "raw2.json"
    )
    assert later.again
    assert both.again
    assert (later.raw_path, both.raw_path) == (tmp_path / "raw.json", tmp_path / "raw2.json")
    content = (tmp_path / "raw.json").read_bytes()
    assert content == (tmp_path / "raw2.json").read_bytes()
    assert verify(tmp_path / "raw.json").certificate.request == later.certificate.request
    assert json.loads(content)["plan"] == later.certificate.plan
    if paid:
        assert Ledger.inspect(tmp_path / "ledger.sqlite").balance("people").spent == 2


def test_both_files_are_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specification = read_specification(document())
    (tmp_path / "raw.json").write_text("something else")
    with pytest.raises(OutputError, match="exists already"):
        release(specification, population(), tmp_path / "a.csv", raw=tmp_path / "raw.json")
    assert not (tmp_path / "a.csv").exists()
    with pytest.raises(OutputError, match=r"as \.json"):
        release(specification, population(), tmp_path / "a.csv", raw=tmp_path / "raw.csv")
    with pytest.raises(OutputError, match="same name"):
        release(specification, population(), tmp_path / "a.json", raw=tmp_path / "a.json")
    key = tmp_path / "key"
    mark = make_key(key)
    release(specification, population(), tmp_path / "a.csv", raw=tmp_path / "r.json", sign=key)
    assert verify(tmp_path / "r.json", key=mark).signer_trusted

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "publish_files", full)
        with pytest.raises(OSError, match="No space"):
            release(specification, population(), tmp_path / "c.json", raw=tmp_path / "c-raw.json", sign=key)
    assert not list(tmp_path.glob("c*"))


def test_a_joint_measurement_is_named_row_by_row() -> None:
    chosen = planned(
        {"n": {"kind": "count", "by": {"g": list(SIZES), "s": ["m", "f"]}}, "all": {"kind": "count"}}
    )
    (joint,) = chosen.design.measurements
    assert isinstance(joint, JointMeasurement)
    (found,) = document_of(chosen, people())["measurements"]
    words = [row["measured"] for row in found["rows"]]
    assert "count | g = e, s = m" in words
    assert len(set(words)) == len(words)
