"""Evaluation with weights: original and release are compared as their users weight them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import coterie
from coterie.cli.app import app
from coterie.evaluation.evaluation import WeightedComparison
from coterie.table.estimates import EstimatePair

ROWS = 400
ATTRIBUTES: dict[str, Any] = {
    "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["f", "m"]}},
    "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 99}},
    "w": {"type": "continuous", "role": "weight", "domain": {"lower": 1, "upper": 9}},
}
SCHEMA = {"attributes": ATTRIBUTES}
RAKED = {"totals": {"sex": {"f": 900, "m": 600}}, **SCHEMA}


def table(seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    sex, age = draw.choice(["f", "m"], ROWS), draw.integers(0, 100, ROWS)
    return pa.table({"sex": sex, "age": age, "w": np.where(sex == "f", 1.0, 5.0) + age / 50})


def weighted(original: pa.Table, released: Any, schema: Any = SCHEMA) -> WeightedComparison:
    found = coterie.evaluate(original, released, schema, measures="two-way", shuffled=True)
    assert found.weighted is not None
    assert found.to_dict()["weighted"]["weight"] == "w"
    return found.weighted


def estimate(found: WeightedComparison, attribute: str, of: str) -> EstimatePair:
    (only,) = (one for one in found.estimates if (one.attribute, one.of) == (attribute, of))
    return only


def test_estimates_are_those_of_numpy() -> None:
    before, after = table(0).to_pandas(), table(1).to_pandas()
    found = weighted(table(0), table(1))
    age, women = estimate(found, "age", "mean"), estimate(found, "sex", "f")
    assert (age.original, age.released) == pytest.approx((before.age.mean(), after.age.mean()))
    weighted_ages = [np.average(t.age, weights=t.w) for t in (before, after)]
    assert [age.original_weighted, age.released_weighted] == pytest.approx(weighted_ages)
    assert women.original_weighted == pytest.approx(before.w[before.sex == "f"].sum() / before.w.sum())
    assert found.totals == pytest.approx((before.w.sum(), after.w.sum()))
    assert {one.attribute for one in found.estimates} == {"sex", "age"}


def test_ordered_labels_have_shares_and_dates_no_mean() -> None:
    attributes = {
        "size": {"type": "ordinal", "role": "protect", "categories": {"labels": ["s", "m", "l"]}},
        "day": {"type": "date", "role": "protect", "domain": {"lower": "2000-01-01", "upper": "2030-01-01"}},
        "w": ATTRIBUTES["w"],
    }
    days = pa.array(np.arange(4) + 12_000, pa.int32()).cast(pa.date32())
    rows = pa.table({"size": ["s", "l", "l", "m"], "day": days, "w": [3.0, 1.0, 1.0, 5.0]})
    found = weighted(rows, rows, {"attributes": attributes})
    assert [one.of for one in found.estimates] == ["s", "m", "l"]
    assert estimate(found, "size", "l").original == 0.5
    assert estimate(found, "size", "l").original_weighted == pytest.approx(0.2)


def test_weighted_tables_see_what_others_do_not() -> None:
    """The same records with other weights."""
    other = table().set_column(2, "w", pa.array(np.where(table()["sex"].to_pandas() == "f", 5.0, 1.0)))
    found = weighted(table(), other)
    assert found.two_way == 0
    assert found.two_way_weighted is not None
    assert found.two_way_weighted > 0.2
    same = weighted(table(), table())
    assert (same.two_way, same.two_way_weighted) == (0, 0)


def test_raked_rows_are_compared_with_the_weights_of_the_original_if_it_has_them() -> None:
    release = coterie.protect(table(), RAKED, method="dp-synthetic", epsilon=2, seed=1)
    found = weighted(table(), release, RAKED)
    assert found.totals[1] == pytest.approx(1500, rel=1e-4)
    assert estimate(found, "sex", "f").released_weighted == pytest.approx(0.6, rel=1e-4)
    assert found.two_way_weighted is not None
    without = coterie.evaluate(table().drop_columns(["w"]), release, RAKED, measures="two-way")
    assert without.weighted is not None
    assert without.weighted.totals[0] is None
    assert without.weighted.two_way_weighted is None
    assert estimate(without.weighted, "sex", "f").original_weighted is None
    assert any("no usable weights" in note for note in without.notes)


def test_without_a_weight_nothing_is_added() -> None:
    people, schema = coterie.demo_population(people=60), coterie.demo_schema()
    release = coterie.protect(people, schema, method="laplace", epsilon=1, seed=1)
    found = coterie.evaluate(people, release, schema, measures="two-way")
    assert found.weighted is None
    assert "weighted" not in found.to_dict()
    assert "estimates" not in release.internal.to_dict()


@pytest.mark.parametrize("schema", [SCHEMA, RAKED])
def test_internal_figures_have_the_estimates(schema: Any) -> None:
    release = coterie.protect(table(), schema, method="dp-synthetic", epsilon=2, seed=1)
    figures = {(e["attribute"], e["of"]): e for e in release.internal.to_dict()["estimates"]}
    age = figures["age", "mean"]
    people, rows = table().to_pandas(), release.table.to_pandas()
    assert age["original"] == pytest.approx(people.age.mean())
    assert age["released_weighted"] == pytest.approx(np.average(rows.age, weights=rows.w))
    assert (age["original_weighted"] is None) == ("totals" in schema)


def test_the_command_shows_them(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(table(0), tmp_path / "before.csv")
    pyarrow.csv.write_csv(table(1), tmp_path / "after.csv")
    (tmp_path / "schema.yaml").write_text(coterie.Schema.load(SCHEMA).to_yaml(), encoding="utf-8")
    given = ["evaluate", str(tmp_path / "before.csv"), str(tmp_path / "after.csv")]
    given += ["--schema", str(tmp_path / "schema.yaml"), "--shuffled", "-m", "two-way"]
    shown = CliRunner().invoke(app, given, env={"COLUMNS": "160"})
    assert shown.exit_code == 0, shown.output
    assert "Weighted by w" in shown.output
    assert "sum of weights" in shown.output
    told = json.loads(CliRunner().invoke(app, [*given, "--json"]).output)
    assert len(told["weighted"]["estimates"]) == 3
