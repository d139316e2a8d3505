"""One row per figure, in four formats with the same content; whole numbers whole; groups in columns of their own."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from statistics_people import EVERY_KIND, document, population

from coterie.statistics import Published, read_specification, release
from coterie.statistics.releasing.tidy_table import ENDINGS, read, rows_of, typed, written


def released(folder: Path, content: dict[str, Any], name: str = "out.csv") -> Published:
    return release(read_specification(content), population(), folder / name, seed=1)


def tables(**changes: Any) -> dict[str, Any]:
    """A table with both margins and the total."""
    by = {"region": ["north", "south", "west"], "smoker": ["yes", "no"]}
    statistics = {
        "all": {"kind": "count"},
        "regions": {"kind": "count", "by": {"region": by["region"]}},
        "smokers": {"kind": "count", "by": {"smoker": by["smoker"]}},
        "both": {"kind": "count", "by": by},
    }
    return document(**{"statistics": statistics, "equations": {}, "neighbours": "add-remove", **changes})


def test_groups_have_columns_and_margins_say_so(tmp_path: Path) -> None:
    rows = released(tmp_path, tables()).values
    found = {(row["region"], row["smoker"]): row["name"] for row in rows}
    assert found["(all)", "(all)"] == "all"
    assert found["north", "(all)"] == "regions[north]"
    assert found["(all)", "yes"] == "smokers[yes]"
    assert found["north", "yes"] == "both[north, yes]"
    assert len(found) == 1 + 3 + 2 + 6
    assert {row["statistic"] for row in rows} == {"all", "regions", "smokers", "both"}


def test_filters_bins_and_equations_are_readable(tmp_path: Path) -> None:
    made = released(tmp_path, EVERY_KIND)
    rows = {row["name"]: row for row in made.values}
    assert (rows["s"]["region"], rows["s"]["of"]) == ("north or west", "cost")
    bins = [(rows[n]["age"], rows[n]["age_from"], rows[n]["age_to"]) for n in ("h[18..40]", "h[65..90]", "n")]
    assert bins == [("18..40", 18, 40), ("65..90", 65, 90), ("(all)", None, None)]
    assert (rows["q"]["kind"], rows["q9"]["kind"], rows["q9"]["of"]) == ("median", "quantile", "0.9 of age")
    assert (rows["p"]["of"], rows["p"]["region"]) == ("smoker = yes", "south")
    assert (rows["r"]["kind"], rows["r"]["of"], rows["r"]["region"]) == ("equation", "s / n", None)
    for ending in ENDINGS:  # every format has the same content, types included
        content = written(made.to_frame(), ending, {})
        assert read(content, ending).equals(made.to_frame())
        assert rows_of(read(content, ending)) == made.values


def test_whole_numbers_are_whole_everywhere(tmp_path: Path) -> None:
    made = {ending: released(tmp_path, tables(), f"out{ending}") for ending in ENDINGS}
    for ending in (".csv", ".json"):
        assert not re.search(rb"\d\.0\b", made[ending].content)
    table = pq.read_table(made[".parquet"].path)
    assert {table.schema.field(name).type for name in ("value", "lower_95", "upper_95")} == {pa.int64()}
    rows = csv.DictReader(io.StringIO(made[".csv"].content.decode()))
    for row in rows:
        lower, value, upper = (int(row[name]) for name in ("lower_95", "value", "upper_95"))
        assert 0 <= lower <= value <= upper
    mixed = released(tmp_path, document(), "mixed.csv")
    assert not re.search(rb"\d\.0\b", mixed.content)
    assert mixed.to_frame().schema.field("value").type == pa.float64()


def test_what_the_budget_column_means_is_said(tmp_path: Path) -> None:
    made = released(tmp_path, tables(), "out.json")
    content = json.loads(made.content)
    assert "must not be added up" in content["epsilon_of_measurements"]
    assert {row["epsilon_of_measurements"] for row in content["values"]} == {2}
    assert len({row["measurements"] for row in content["values"]}) == 1
    zcdp = released(tmp_path, tables(budget={"rho": "0.1"}), "zcdp.csv")
    assert "rho_of_measurements" in zcdp.values[0]
    described = pq.read_schema(released(tmp_path, tables(), "out.parquet").path).metadata[b"coterie"]
    assert json.loads(described)["release"] == "costs"


def test_names_of_columns_and_labels_do_not_collide(tmp_path: Path) -> None:
    """A column that is called as ours, and a value that is called as all values."""
    people = pa.table({"value": ["(all)", "x", "x"], "value_to": [1, 2, 3], "name_from": ["a", "b", "c"]})
    kept = {"role": "keep"}
    content = {
        "release": "odd",
        "population": "p",
        "schema": {"attributes": {"value": kept, "value_to": {**kept, "type": "integer"}, "name_from": kept}},
        "neighbours": "add-remove",
        "budget": {"epsilon": 1},
        "statistics": {
            "n": {"kind": "count", "by": {"value": ["(all)", "x"]}},
            "m": {"kind": "count", "by": {"value_to": [1, 2], "name_from": ["a", "b"]}},
        },
    }
    first = release(read_specification(content), people, tmp_path / "a.csv", seed=1)
    rows = {row["name"]: row for row in first.values}
    assert rows["n[(all)]"]["group_value"] == "(all)"
    assert rows["m[1, a]"]["group_value"] == "((all))"
    assert (rows["m[1, a]"]["name_from"], rows["m[1, a]"]["value_to"]) == ("a", "1")
    for ending in ENDINGS:
        again = release(read_specification(content), people, tmp_path / f"b{ending}", seed=1)
        assert again.to_frame().equals(first.to_frame())


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_release_without_a_figure_keeps_its_columns(ending: str) -> None:
    """Counts by private keys of which none is shown."""
    empty = typed({name: [] for name in ["name", "region", "value", "lower_95", "epsilon_of_measurements"]})
    assert read(written(empty, ending, {}), ending).equals(empty)
    assert rows_of(empty) == []


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", [b"", b"a,value\n1", b"[]", b'{"values": [1]}', b"\xff\xfe", b"PAR1PAR1"])
def test_a_file_that_is_no_release_is_a_value_error(content: bytes, ending: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(content, ending)
