"""Edit rules and weights from public totals: the same rows and words wherever the records are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie import Schema, protect
from coterie.comparison.comparison import run_grid
from coterie.comparison.grid import make_grid
from coterie.engines.out_of_core import whole_table
from coterie.evaluation.evaluation import evaluate
from coterie.promise.certificate import Digest

PEOPLE = 500
ATTRIBUTES: dict[str, Any] = {
    "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 100}},
    "job": {
        "type": "categorical",
        "role": "protect",
        "categories": ["farm", "office"],
        "not_applicable": "age < 15",
    },
    "total": {"role": "protect", "decimals": 1, "domain": {"lower": 0, "upper": 100}},
    "region": {"type": "ordinal", "role": "protect", "categories": ["n", "m", "s"]},
    "wages": {"role": "protect", "decimals": 1, "domain": {"lower": 0, "upper": 50}},
    "pension": {"role": "protect", "decimals": 1, "domain": {"lower": 0, "upper": 50}},
    "w": {"role": "weight", "decimals": 2},
}
RULES = ["total = wages + pension", "age < 15 -> wages = 0"]
TOTALS = {"region": {"n": 5000, "m": 2000, "s": 3000}, "job": {"farm": 4000, "office": 6000}}
OPTIONS: dict[str, Any] = {"method": "dp-synthetic", "epsilon": 2, "seed": 4}


def people() -> pa.Table:
    """Without the weight: it is made."""
    draw = np.random.default_rng(3)
    age = draw.integers(0, 90, PEOPLE)
    wages = np.where(age < 15, 0.0, draw.uniform(0, 50, PEOPLE).round(1))
    pension = draw.uniform(0, 50, PEOPLE).round(1)
    return pa.table(
        {
            "age": age,
            "job": pa.array(draw.choice(["farm", "office"], PEOPLE), mask=age < 15),
            "total": (wages + pension).round(1),
            "region": draw.choice(["n", "m", "s"], PEOPLE),
            "wages": wages,
            "pension": pension,
        }
    )


def schema(**other: Any) -> Schema:
    return Schema.load({"attributes": ATTRIBUTES, "rules": RULES, "totals": TOTALS} | other)


def same_certificates(one: Any, other: Any) -> None:
    digest = Digest(over="part files", value="0" * 64)
    told = [json.loads(release.certify(digest).to_json()) | {"issued": ""} for release in (one, other)]
    assert told[0] == told[1]
    assert any(note.startswith("weights were raked") for note in told[0]["notes"])
    assert set(RULES) <= set(told[0]["rules"])


@pytest.mark.parametrize("rows", [None, 777])
def test_larger_than_memory(rows: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_table, "_PIECE", 128)
    pq.write_table(people(), tmp_path / "in.parquet", row_group_size=100)
    made = protect(tmp_path / "in.parquet", schema(), memory="6GB", rows=rows, **OPTIONS)
    made.write(tmp_path / "out.parquet")
    here = protect(people(), schema(), rows=rows, **OPTIONS)
    assert pq.read_table(tmp_path / "out.parquet").equals(here.table)
    assert here.table.column_names == list(ATTRIBUTES)
    weights = here.table.to_pandas().groupby("region")["w"].sum()
    assert weights.to_dict() == pytest.approx(TOTALS["region"], rel=1e-3)
    same_certificates(made, here)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(900)
def test_on_spark(spark: Any) -> None:
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", "2")
    frame = spark.createDataFrame(people())
    for rows, described in ((None, schema()), (777, schema()), (None, schema(totals=9000, rules=[]))):
        here = protect(people(), described, rows=rows, **OPTIONS)
        made = protect(frame, described, rows=rows, **OPTIONS)
        assert made.data.toArrow().to_pydict() == here.table.to_pydict()
        if described.rules:
            same_certificates(made, here)


def test_a_comparison_draws_rows_that_satisfy_the_rules() -> None:
    """Each run is the release of that seed, measured."""
    grid = make_grid(["dp-synthetic"], ["2"], [3], runs=1, seed=4)
    found = run_grid(people(), schema(totals=None, attributes=_unweighted()), grid).results
    release = protect(people(), schema(totals=None, attributes=_unweighted()), **OPTIONS)
    expected = evaluate(people(), release.table, schema(totals=None, attributes=_unweighted()), shuffled=True)
    for name, values in found.values.items():
        measured = expected.measures[name].attributes
        got = dict(zip(found.attributes, values[0, 0], strict=True))
        assert {key: value for key, value in got.items() if not np.isnan(value)} == pytest.approx(measured)


def _unweighted() -> dict[str, Any]:
    return {name: entry for name, entry in ATTRIBUTES.items() if name != "w"}
