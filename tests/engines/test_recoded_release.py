"""Recoding is a step before everything: a release of a recoded schema is the release of a table recoded by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import coterie
from coterie.errors import DataError
from coterie.table.checked import check, recoded_table
from coterie.table.columns.column import CategoryColumn

ROWS = 300
SALES, TECH = "Sales", "Tech-support"  # of one branch and of another of our tree of occupations
DOMAIN = {"lower": 0, "upper": 120}
CIVIL = ["single", "married", "cohabiting", "widowed"]
SCHEMA = coterie.Schema.load(
    {
        "attributes": {
            "id": {"role": "identifier"},
            "age": {
                "type": "integer",
                "role": "protect",
                "domain": DOMAIN,
                "recode": {"bands": [0, 15, 30, 45, 60, 75, 90]},
            },
            "hours": {
                "type": "integer",
                "role": "protect",
                "domain": DOMAIN,
                "outside": "clip",
                "recode": {"bottom": 10, "top": 60, "round_to": 5},
            },
            "civil": {
                "type": "categorical",
                "role": "protect",
                "missing": "own category",
                "missing_marks": ["9"],
                "categories": {"labels": CIVIL},
                "recode": {"labels": {"married": "partnered", "cohabiting": "partnered"}},
            },
            "grade": {
                "type": "ordinal",
                "role": "protect",
                "categories": {"labels": ["none", "low", "mid", "high"]},
                "recode": {"labels": {"none": "low"}},
            },
            "work": {
                "type": "categorical",
                "role": "protect",
                "categories": {"taxonomy": "adult:occupation"},
                "recode": {"level": 1},
            },
        }
    }
)


def tables() -> tuple[pa.Table, pa.Table]:
    """As it is, and recoded by hand."""
    draw = np.random.default_rng(5)
    age, hours = draw.integers(0, 121, ROWS), draw.integers(-5, 131, ROWS)
    civil = draw.choice([*CIVIL, "9"], ROWS).tolist()
    grade = draw.choice(["none", "low", "mid", "high"], ROWS).tolist()
    work = draw.choice([SALES, TECH, "Craft-repair"], ROWS).tolist()
    starts = [0, 15, 30, 45, 60, 75, 90]
    ends = [14, 29, 44, 59, 74, 89, 120]
    bands = [f"{starts[i]} to {ends[i]}" for i in np.searchsorted(starts, age, side="right") - 1]
    merged = {"married": "partnered", "cohabiting": "partnered", "9": None}
    above = {SALES: "White-collar work", TECH: "White-collar work", "Craft-repair": "Manual work"}
    original = {"id": range(ROWS), "age": age, "hours": hours, "civil": civil, "grade": grade, "work": work}
    by_hand = {
        "id": range(ROWS),
        "age": bands,
        "hours": [min(max(5 * int(h / 5 + 0.5) if h >= 0 else 0, 10), 60) for h in hours.tolist()],
        "civil": [merged.get(label, label) for label in civil],
        "grade": ["low" if label == "none" else label for label in grade],
        "work": [above[label] for label in work],
    }
    return pa.table(original), pa.table(by_hand)


ORIGINAL, BY_HAND = tables()


def test_the_table_is_recoded_cell_by_cell() -> None:
    assert recoded_table(ORIGINAL, SCHEMA).to_pydict() == BY_HAND.to_pydict()
    one_by_one = [recoded_table(ORIGINAL.slice(row, 1), SCHEMA) for row in range(40)]
    assert pa.concat_tables(one_by_one).to_pydict() == BY_HAND.slice(0, 40).to_pydict()


@pytest.mark.parametrize("method", ["dp-synthetic", "laplace", "dp-ir", "mdav", "idp-cbls"])
def test_a_release_is_that_of_the_table_recoded_by_hand(method: str) -> None:
    asked: dict[str, Any] = {"method": method, "epsilon": 4, "seed": 3}
    if method not in ("dp-synthetic", "laplace"):
        asked["k"] = 5
    released = coterie.protect(ORIGINAL, SCHEMA, **asked)
    other = coterie.protect(BY_HAND, SCHEMA.of_release, **asked)
    got, wanted = released.table.to_pydict(), other.table.to_pydict()
    # Only the first knows that hours are multiples of 5.
    wanted["hours"] = [min(max(5 * int(hour / 5 + 0.5), 10), 60) for hour in wanted["hours"]]
    assert got == wanted
    assert released.guarantee.status == other.guarantee.status
    told = {a.name: a.recoded for a in released.certificate.attributes}
    assert told["age"] == "in bands that begin at 0, 15, 30, 45, 60, 75 and 90"
    assert told["id"] is None
    assert any("hours: values below 10 as 10" in words for words in released.certificate.notes)
    assert "recoded" not in other.certificate.to_json()


def test_out_of_core_and_from_text(tmp_path: Path) -> None:
    pq.write_table(ORIGINAL, tmp_path / "people.parquet", row_group_size=70)
    pyarrow.csv.write_csv(ORIGINAL, tmp_path / "people.csv")
    asked: dict[str, Any] = {"method": "dp-ir", "epsilon": 4, "k": 5, "seed": 3}
    wanted = coterie.protect(ORIGINAL, SCHEMA, **asked).table.to_pydict()
    streamed = coterie.publish(
        tmp_path / "people.parquet", SCHEMA, tmp_path / "out.parquet", memory="6GB", **asked
    )
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == wanted
    assert streamed.certificate.attributes[1].recoded
    assert coterie.protect(tmp_path / "people.csv", SCHEMA, **asked).table.to_pydict() == wanted


@pytest.mark.filterwarnings("ignore")  # PySpark's own
@pytest.mark.timeout(900)
def test_on_spark(spark: Any) -> None:
    asked: dict[str, Any] = {"method": "dp-ir", "epsilon": 4, "k": 5, "seed": 3}
    released = coterie.protect(spark.createDataFrame(ORIGINAL), SCHEMA, **asked).data.toArrow()
    assert released.to_pydict() == coterie.protect(ORIGINAL, SCHEMA, **asked).table.to_pydict()


def test_measures_audits_and_comparisons_see_recoded_values(tmp_path: Path) -> None:
    release = coterie.protect(ORIGINAL, SCHEMA, method="mdav", k=ROWS, shuffle=False)
    released = tmp_path / "out.csv"
    release.write(released)
    for shown in (release, released):
        found = coterie.evaluate(ORIGINAL, shown, SCHEMA, measures="sse")
        same = coterie.evaluate(BY_HAND, shown, SCHEMA.of_release, measures="sse")
        for name in ("age", "grade"):  # hours outside the domain are measured as they are
            assert found.measures["sse"].attributes[name] == same.measures["sse"].attributes[name]
        audit = coterie.audit(ORIGINAL, shown, SCHEMA, attacks=["nearest-linkage"])
        assert audit.findings[0].estimate.value < 0.1
    audit = coterie.audit_method(
        "laplace", epsilon=1, population=ORIGINAL, schema=SCHEMA, attacks=["empirical-epsilon"], runs=100
    )
    assert not audit.not_run
    grid = coterie.compare(
        ORIGINAL, SCHEMA, methods=["ir"], k=[5], epsilon=[1], folder=tmp_path / "grid", runs=1
    )
    coterie.write_report(grid, tmp_path / "report", audit_seconds=None)
    page = (tmp_path / "report" / "report.html").read_text()
    assert "age: in bands that begin at 0, 15, 30, 45, 60, 75 and 90" in page


def test_pieces_of_a_column_have_the_same_codes() -> None:
    whole = check(ORIGINAL, SCHEMA).columns
    for name in ("civil", "work"):
        column = whole[name]
        assert isinstance(column, CategoryColumn)
        assert np.array_equal(column.semantics.read(ORIGINAL[name].slice(7)), column.codes[7:])


def test_outside_the_domain_is_refused_before_recoding_hides_it() -> None:
    low = {"type": "integer", "role": "protect", "domain": DOMAIN}
    for recode in ({"top": 85}, {"round_to": 5}, {"bands": [60]}):
        schema = coterie.Schema.load({"attributes": {"age": {**low, "recode": recode}}})
        with pytest.raises(DataError, match="outside its declared domain"):
            coterie.protect({"age": [5, 121]}, schema, method="ir", k=2)
        clipped = coterie.Schema.load({"attributes": {"age": {**low, "outside": "clip", "recode": recode}}})
        assert coterie.protect({"age": [119, 121]}, clipped, method="ir", k=2).table.num_rows == 2


def test_statistics_are_of_recoded_values(tmp_path: Path) -> None:
    schema = SCHEMA.to_dict()
    schema["attributes"]["civil"]["missing"] = "error"
    schema["attributes"]["civil"]["missing_marks"] = []
    schema["attributes"]["civil"]["categories"]["labels"] = [*CIVIL, "9"]
    (tmp_path / "schema.yaml").write_text(coterie.Schema.load(schema).to_yaml())
    spec = {
        "coterie_statistics": 1,
        "release": "recoded",
        "population": "people",
        "schema": str(tmp_path / "schema.yaml"),
        "records": ROWS,
        "neighbours": "replace-one",
        "budget": {"epsilon": 100_000},
        "statistics": {
            "partnered": {"kind": "count", "where": {"civil": "partnered"}, "expected": 100},
            "young": {"kind": "count", "where": {"age": "0 to 14"}, "expected": 30},
            "hours": {"kind": "mean", "of": "hours", "expected": 40},
        },
    }
    made = coterie.statistics.release(spec, ORIGINAL, tmp_path / "figures.json")
    wanted, found = BY_HAND.to_pydict(), {entry["name"]: entry["value"] for entry in made.values}
    assert found["partnered"] == wanted["civil"].count("partnered")
    assert found["young"] == wanted["age"].count("0 to 14")
    assert found["hours"] == pytest.approx(np.mean(wanted["hours"]), abs=0.05)
    assert any("recoded before anything else: hours" in words for words in made.certificate.notes)
