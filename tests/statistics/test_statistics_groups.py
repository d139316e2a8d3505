"""Groups by several columns with their totals: names, group columns, figures that agree, levels of a taxonomy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from statistics_people import SCHEMA, document, population

from coterie import Schema
from coterie.statistics import plan, read_specification
from coterie.statistics.releasing.measuring import Noise
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import make_release
from coterie.statistics.releasing.tidy_table import figures_table
from coterie.statistics.specification.asked_values import one_spelling, resolved
from coterie.statistics.specification.filters import Filter, OneOf
from coterie.statistics.specification.specification import Specification
from coterie.table.columns.column import MISSING_LABEL

REGIONS, SMOKER = ["north", "south", "west"], ["yes", "no"]
BOTH = {"region": REGIONS, "smoker": SMOKER}


def read(**statistics: Any) -> Specification:
    return read_specification(document(statistics=statistics, equations={}))


def test_every_margin_has_a_name_and_says_what_was_added_up() -> None:
    made = read(n={"kind": "count", "by": BOTH, "totals": True})
    groups = {s.name: s.group for s in made.statistics}
    assert len(groups) == (3 + 1) * (2 + 1)
    assert groups["n[north, yes]"] == (("region", "north"), ("smoker", "yes"))
    assert groups["n[north, all]"] == (("region", "north"), ("smoker", "all"))
    assert groups["n[all, all]"] == (("region", "all"), ("smoker", "all"))
    assert made["n[all, all]"].where.everyone
    assert str(made["n[all, yes]"].where) == "smoker = yes"


def test_chosen_totals_only() -> None:
    names = [s.name for s in read(n={"kind": "count", "by": BOTH, "totals": [["region"], []]}).statistics]
    assert names[6:] == ["n[north, all]", "n[south, all]", "n[west, all]", "n[all, all]"]


def test_bins_have_totals_too() -> None:
    entry = {
        "kind": "histogram",
        "of": "age",
        "bins": [0, 40, 120],
        "by": {"smoker": SMOKER},
        "totals": [["age"]],
    }
    made = read(h=entry)
    assert [s.name for s in made.statistics][-2:] == ["h[all, 0..40]", "h[all, 40..120]"]
    assert made["h[all, 0..40]"].group == (("smoker", "all"), ("age", "0..40"))


def test_what_is_expected_of_a_total_follows_from_its_parts() -> None:
    expected: dict[str, Any] = {
        f"{r}, {s}": 100 * (i + 1) for i, (r, s) in enumerate((r, s) for r in REGIONS for s in SMOKER)
    }
    made = read(n={"kind": "count", "by": BOTH, "totals": True, "expected": {**expected, "west, all": 1200}})
    assert made["n[all, yes]"].expected == 100 + 300 + 500
    assert made["n[west, all]"].expected == 1200
    shared = read(
        n={"kind": "count", "by": BOTH, "totals": True, "expected": [90, 110], "about": {"size": 100}},
        m={"kind": "mean", "of": "cost", "by": BOTH, "totals": True, "expected": 20},
    )
    assert shared["n[north, all]"].expected == 200
    possible = shared["n[north, all]"].possible
    assert possible is not None
    assert (possible.lower, possible.upper) == (180, 220)
    assert shared["n[north, all]"].about.size is None
    assert shared["m[north, all]"].expected == 20


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("complete", [True, False])
def test_released_margins_are_the_sums_of_their_groups(neighbours: str, complete: bool) -> None:
    n = {"kind": "count", "by": BOTH, "totals": True, "expected": 400, "complete": complete}
    s = {**n, "kind": "sum", "of": "cost", "expected": 8000}
    m = {"kind": "mean", "of": "cost", "by": BOTH, "totals": True, "expected": 20, "route": "sums"}
    content = document(
        statistics={"n": n, "s": s, "m": m}, equations={}, neighbours=neighbours, budget={"epsilon": "1"}
    )
    chosen = plan(read_specification(content), "square-root", report_losses=False)
    found = {
        v.name: v.value for v in make_release(chosen, open_records(population()), Noise.seeded(3)).values
    }
    truth = population().num_rows
    assert found["n[all, all]"] != truth or neighbours == "replace-one"
    # Without `complete` a record may have another value: then a margin is its groups and that rest, which has noise.
    slack = 0.0 if complete else 40.0
    for region in REGIONS:
        parts = sum(found[f"n[{region}, {smoker}]"] for smoker in SMOKER)
        assert abs(parts - found[f"n[{region}, all]"]) <= slack
    assert abs(sum(found[f"n[{region}, all]"] for region in REGIONS) - found["n[all, all]"]) <= slack
    if complete:
        assert sum(found[f"s[{r}, {k}]"] for r in REGIONS for k in SMOKER) == pytest.approx(
            found["s[all, all]"]
        )
        # The mean of all is the mean of the regions, weighted by the published counts.
        weighted = sum(found[f"n[{r}, all]"] * found[f"m[{r}, all]"] for r in REGIONS)
        assert found["m[all, all]"] == pytest.approx(weighted / found["n[all, all]"], rel=1e-6)


def test_the_released_table_says_what_a_total_is_over() -> None:
    n = {"kind": "count", "by": BOTH, "totals": True, "where": {"smoker": ["yes", "no"]}}
    chosen = plan(read(n=n), "square-root", report_losses=False)
    rows = figures_table(make_release(chosen, open_records(population()), Noise.seeded(3))).to_pylist()
    cells = {row["name"]: (row["region"], row["smoker"]) for row in rows}
    assert cells["n[north, yes]"] == ("north", "yes")
    assert cells["n[all, yes]"] == ("(all)", "yes")
    assert cells["n[west, all]"] == ("west", "yes or no")  # what the filter leaves


def test_totals_along_a_taxonomy() -> None:
    attribute = {"role": "keep", "type": "categorical", "categories": {"taxonomy": "adult:native-country"}}
    schema = {**SCHEMA, "attributes": {**SCHEMA["attributes"], "country": attribute}}
    content = document(
        schema=schema,
        statistics={"n": {"kind": "count", "by": {"country": "declared"}, "totals": True, "complete": True}},
        equations={},
        budget={"epsilon": "1e6"},
        records=60,
    )
    specification = read_specification(content)
    labels = [s.group[0][1] for s in specification.statistics]
    inner = [label for label in labels if label.startswith("all ")]
    assert inner
    assert labels[-1] == "all"
    leaves = [label for label in labels if not label.startswith("all")]
    table = pa.table({"country": [leaves[i % 7] for i in range(60)]})
    chosen = plan(specification, "square-root", report_losses=False)
    found = {v.name: v.value for v in make_release(chosen, open_records(table), Noise.seeded(3)).values}
    table_rows = figures_table(make_release(chosen, open_records(table), Noise.seeded(3))).to_pylist()
    assert {row["country"] for row in table_rows} == {*leaves, *inner, "(all)"}
    for label in inner:
        (condition,) = [c for _, c in specification[f"n[{label}]"].where.conditions]
        held = sum(found[f"n[{leaf}]"] for leaf in condition.values)  # type: ignore[union-attr]
        assert (
            found[f"n[{label}]"] == held == sum(c in condition.values for c in table["country"].to_pylist())
        )  # type: ignore[union-attr]
    assert found["n[all]"] == 60


def test_a_code_is_one_code_whether_written_as_number_or_text_and_totals_lie_among_their_groups() -> None:
    """All labels are listed and none may be missing, so no cell is left for other records."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {"sex": rng.integers(1, 3, 900), "urban": rng.integers(0, 2, 900), "age": rng.integers(0, 100, 900)}
    )

    def labelled(*labels: str) -> dict[str, Any]:
        return {"role": "protect", "type": "categorical", "categories": {"labels": labels}}

    ages = {"role": "protect", "type": "integer", "domain": {"lower": 0, "upper": 99}}
    by = {"sex": "declared", "urban": "declared"}
    content = {
        "release": "codes",
        "population": "people",
        "schema": {"attributes": {"sex": labelled("1", "2"), "urban": labelled("0", "1"), "age": ages}},
        "neighbours": "add-remove",
        "records": 900,
        "budget": {"epsilon": 1},
        "statistics": {
            "n": {"kind": "count", "by": by, "totals": True},
            "men": {"kind": "count", "where": {"sex": 1}},
            "old": {"kind": "count", "where": {"age": "77"}},
            "as_old": {"kind": "count", "where": {"age": 77}},
            "mean": {"kind": "mean", "of": "age", "by": by, "totals": True, "expected": 50},
        },
    }
    chosen = plan(read_specification(content))
    for seed in range(10):
        made = make_release(chosen, open_records(table), Noise.seeded(seed))
        values = {value.name: value.value for value in made.values}
        assert values["men"] == values["n[1, all]"] == values["n[1, 0]"] + values["n[1, 1]"]
        assert values["n[all, all]"] == values["n[1, all]"] + values["n[2, all]"]
        assert values["old"] == values["as_old"]
        for code in "12":
            groups = [values[f"mean[{code}, 0]"], values[f"mean[{code}, 1]"]]
            assert min(groups) - 1e-9 <= values[f"mean[{code}, all]"] <= max(groups) + 1e-9


def test_codes_may_be_named_by_their_words() -> None:
    schema = Schema.load(
        {
            "attributes": {
                "sex": {
                    "type": "categorical",
                    "role": "protect",
                    "missing": "own category",
                    "missing_marks": [9],
                    "value_labels": {1: "man", 2: "woman", 9: "refused"},
                }
            }
        }
    )
    asked = Filter((("sex", OneOf(("woman", 2, "2", "refused"))),))
    assert one_spelling(asked, schema).conditions == (("sex", OneOf(("2", "refused"))),)
    found = resolved(OneOf(("woman", "refused", 9, "1")), schema["sex"], schema)
    assert found == OneOf(("2", MISSING_LABEL, MISSING_LABEL, "1"))
