"""The forms of statistics and equations: what is typed becomes the entry, and what is wrong is said beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

pytest.importorskip("fastapi")
from statistics_studio import Bench, sentence, specification, working
from test_statistics_bad_inputs import BAD

from coterie.schema.attributes import Schema
from coterie.studio.desk.desk import Desk
from coterie.studio.desk.entries import entry_of, fields_of
from coterie.studio.desk.first_specification import suggested, words
from coterie.studio.forms import Sent


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with working(tmp_path_factory.mktemp("entries")) as made:
        made.specify()
        yield made


@pytest.fixture
def bench(shared: Bench) -> Iterator[Bench]:
    """The library's own specification; whatever a test makes of it is put back."""
    desk = Desk(shared.project).path
    before = desk.read_bytes()
    yield shared
    desk.write_bytes(before)


def entry(bench: Bench, name: str, part: str = "statistics") -> Any:
    return Desk(bench.project).document[part][name]


def written(bench: Bench, **fields: str) -> Any:
    sent = {name.replace("__", "-"): [value] for name, value in fields.items()}
    return entry_of("statistic", Sent(sent), bench.project.schema())[1]


def test_every_kind_of_statistic_can_be_written(bench: Bench) -> None:
    smokers = written(bench, kind="count", where__column__0="smoker", where__values__0="yes")
    assert smokers == {"kind": "count", "where": {"smoker": "yes"}}
    adults = written(
        bench, kind="sum", of="cost", where__column__0="age", where__from__0="18", where__below__0="65"
    )
    assert adults == {"kind": "sum", "of": "cost", "where": {"age": {"from": 18, "below": 65}}}
    for kind in ("mean", "variance", "std", "median"):
        assert written(bench, kind=kind, of="cost") == {"kind": kind, "of": "cost"}
    ninth = written(bench, kind="quantile", of="age", quantile="0.9")
    assert ninth == {"kind": "quantile", "of": "age", "quantile": 0.9}
    share = written(
        bench, kind="proportion", that__column__0="smoker", that__values__0="yes", that__column__1=""
    )
    assert share == {"kind": "proportion", "that": {"smoker": "yes"}}
    bins = written(bench, kind="histogram", of="age", bins="0; 40; 120")
    assert bins == {"kind": "histogram", "of": "age", "bins": [0, 40, 120]}


def test_weighted_statistics_are_written_and_suggested_where_there_is_a_weight(bench: Bench) -> None:
    entry = written(bench, kind="mean", of="cost", weighted="true")
    assert entry == {"kind": "mean", "of": "cost", "weighted": True}
    assert fields_of("statistic", "m", entry)["weighted"] == "true"
    assert written(bench, kind="count", weighted="false") == {"kind": "count", "weighted": False}
    assert words(entry, {}) == "weighted mean of cost"
    by_code = {**entry, "by": {"sex": [1, 2, 3]}, "where": {"sex": 2, "ward": ["n", "s"]}}
    said = "weighted mean of cost, by sex (male, female, 3), where sex is female and ward is n or s"
    assert words(by_code, {"sex": {"1": "male", "2": "female"}}) == said
    attributes = {
        "age": {"role": "protect", "domain": {"lower": 0, "upper": 9}},
        "w": {"role": "weight", "domain": {"lower": 1, "upper": 9}},
    }
    suggestion = suggested(Schema.load({"attributes": attributes}))[0]
    assert suggestion["average_age"] == {"kind": "mean", "of": "age", "weighted": True}
    assert not any("w" in str(name).split("_") for name in suggestion)


def test_a_statistic_is_saved_and_groups_are_the_declared_labels(bench: Bench) -> None:
    bench.post("/statistic", name="c", kind="mean", of="cost", expected="12", weight="2", tolerance="0.5",
               **{"by-column-0": "region"})  # fmt: skip
    assert entry(bench, "c") == {
        "kind": "mean", "of": "cost", "by": {"region": ["north", "south", "west"]},
        "expected": 12, "weight": 2, "tolerance": 0.5,
    }  # fmt: skip
    bench.post("/statistic", was="c", name="c", kind="histogram", of="region", complete="yes",
               expected="north: 1000 to 1300\nsouth: 700")  # fmt: skip
    assert entry(bench, "c") == {
        "kind": "histogram", "of": "region", "values": ["north", "south", "west"], "complete": True,
        "expected": {"north": [1000, 1300], "south": 700},
    }  # fmt: skip


def test_the_form_shows_what_it_would_write_again(bench: Bench) -> None:
    schema = bench.project.schema()
    entries: list[dict[str, Any]] = [
        {"kind": "count", "where": {"smoker": "yes", "age": {"from": 18, "below": 65}, "region": ["north", "west"]}},
        {"kind": "mean", "of": "cost", "by": {"smoker": ["yes", "no"]}, "expected": {"yes": [30, 40], "no": 16}},
        {"kind": "sum", "of": ["age", "cost"], "weight": 3, "tolerance": 0.5, "summary": "p95", "route": "direct"},
        {"kind": "proportion", "that": {"smoker": "yes"}, "at_least": 100, "about": {"yes": {"size": 600, "mean": 3.5}}},
        {"kind": "histogram", "of": "age", "bins": [0, 40.5, 120], "complete": True, "expected": 800},
        {"kind": "quantile", "of": "cost", "quantile": 0.9, "candidates": 64, "expected": [9, 13]},
        {"kind": "slope", "of": ["cost", "age"], "least_std": 4, "about": {"mean": [20, 50], "std": [14, 20]}},
        {"kind": "count", "by": {"region": "declared", "smoker": ["yes", "no"]}, "totals": [["region"], []]},
        {"kind": "count", "by": {"region": ["north"], "smoker": ["no"], "age": [3, 4]}, "complete": True, "totals": True},
        {"kind": "count", "by": {"region": "private"}},
        {"kind": "count_distinct", "of": "region", "at_most": 9},
        {"kind": "trimmed_mean", "of": "cost", "trim": 0.2},
    ]  # fmt: skip
    for written in entries:
        fields = fields_of("statistic", "x", written)
        sent = {name: [text] for name, text in fields.items() if not name.startswith("of-")}
        sent["of"] = [text for name, text in fields.items() if name.startswith("of-")]
        assert entry_of("statistic", Sent(sent), schema) == ("x", written)
    for formula in (
        "a / b",
        {"ready": "ratio", "of": {"a": "n[yes]", "b": "n[no]"}},
        {"formula": "a", "guard": 2},
    ):
        fields = fields_of("equation", "e", formula)
        assert entry_of("equation", Sent({name: [text] for name, text in fields.items()}), schema) == (
            "e",
            formula,
        )


def test_an_equation_is_chosen_from_the_ready_made_or_written(bench: Bench) -> None:
    page = bench.get("/equation")
    assert ">n[yes]</option>" in page
    fields = {"name": "r", "ready": "ratio", "ratio-a": "avg[yes]", "ratio-b": "avg[no]", "tolerance": "0.1"}
    bench.post("/equation", **fields)
    assert entry(bench, "r", "equations") == {
        "ready": "ratio", "of": {"a": "avg[yes]", "b": "avg[no]"}, "tolerance": 0.1,
    }  # fmt: skip
    bench.post("/equation", name="own", ready="formula", formula="n[yes] + n[no]")
    assert entry(bench, "own", "equations") == "n[yes] + n[no]"
    bench.post("/equation", was="own", name="renamed", ready="formula", formula="n[yes] - n[no]")
    assert "own" not in Desk(bench.project).document["equations"]
    page = bench.get()
    assert "divides by" in page  # what the library warns of stands beside the equation


@pytest.mark.parametrize(
    ("path", "fields", "message"),
    [
        ("/equation", {"name": "e", "ready": "formula", "formula": "avg[yes] / avgg[no]"}, r"unknown.*mean 'avg\[no\]'"),
        ("/equation", {"name": "e", "ready": "formula", "formula": "sqrt(avg[yes] - avg[no])"}, r"negative.*max\("),
        ("/equation", {"name": "e", "ready": "formula", "formula": "__import__('os')"}, "not allowed"),
        ("/equation", {"name": "e", "ready": "formula", "formula": ""}, "is empty"),
        ("/equation", {"name": "e", "ready": "ratio", "ratio-a": "n[yes]"}, "cannot be read|unknown"),
        ("/equation", {"name": "t", "ready": "formula", "formula": "n[yes]"}, "'t' exists already"),
        ("/equation", {"name": "e", "ready": "formula", "formula": "n[yes]", "weight": "-1"}, "at least 0"),
        ("/statistic", {"name": "x", "kind": "mean"}, "needs 1"),
        ("/statistic", {"name": "x y", "kind": "count"}, "letters, digits"),
        ("/statistic", {"name": "x", "kind": "mean", "of": "region"}, "needs numbers"),
        ("/statistic", {"name": "x", "kind": "median", "of": "coost"}, "Did you mean 'cost'"),
        ("/statistic", {"name": "x", "kind": "quantile", "of": "cost", "quantile": "1.5"}, "between 0 and 1"),
        ("/statistic", {"name": "x", "kind": "proportion"}, "which records count"),
        ("/statistic", {"name": "x", "kind": "histogram", "of": "age", "bins": "3; 1"}, "must rise"),
        ("/statistic", {"name": "x", "kind": "histogram", "of": "age"}, "not declared"),
        ("/statistic", {"name": "x", "kind": "count", "where-column-0": "smoker", "where-values-0": "ja"}, "not among"),
        ("/statistic", {"name": "x", "kind": "count", "where-column-0": "smoker"}, "list of values is empty"),
        ("/statistic", {"name": "x", "kind": "count", "where-column-0": "age", "where-from-0": "5",
                        "where-below-0": "5"}, "holds nothing"),
        ("/statistic", {"name": "x", "kind": "mean", "of": "cost", "expected": "120"}, "cannot lie"),
        ("/statistic", {"name": "x", "kind": "mean", "of": "cost", "expected": "9 to 3"}, "inverted"),
        ("/statistic", {"name": "x", "kind": "mean", "of": "cost", "tolerance": "0"}, "greater than 0"),
        ("/statistic", {"name": "x", "kind": "mean", "of": "cost", "weight": "heavy"}, "not a number"),
        ("/statistic", {"name": "avg", "kind": "count"}, "'avg' exists already"),
        ("/remove", {"part": "statistics", "name": "avg"}, r"unknown statistic 'avg\[yes\]'"),
    ],
)  # fmt: skip
def test_a_bad_entry_gets_its_sentence_and_nothing_is_saved(
    bench: Bench, path: str, fields: dict[str, str], message: str
) -> None:
    before = Desk(bench.project).state
    page = bench.post(path, 400, **fields)
    assert re.search(message, sentence(page)), sentence(page)
    if path != "/remove":
        for typed in fields.values():
            assert typed in page
    assert Desk(bench.project).state == before


OWN_SCHEMA = {
    "missing bounds",
    "misspelt label",
    "misspelt group",
    "misspelt part",
    "number that is no label",
    "declared labels that nobody declared",
    "a range of labels",
    "codes beyond the declared ones",
    "numbers that do not apply to everybody",
}
# `schema:` is the project's own description, and half-written entries cannot be told from text that was left out.
_IMPORTED = sorted(set(BAD) - OWN_SCHEMA - {"no schema"})


@pytest.mark.parametrize("name", _IMPORTED)
def test_every_bad_specification_gets_its_sentence(name: str, bench: Bench) -> None:
    content, _, message = BAD[name]
    before = Desk(bench.project).state
    text = yaml.safe_dump({**content, "schema": "schema.yaml"}, sort_keys=False)
    page = bench.post("/import", 400, text=text)
    assert re.search(message, sentence(page)), sentence(page)
    assert Desk(bench.project).state == before


@pytest.mark.parametrize("text", ["statistics: [", "just text", "", "a: {b: c}"])
def test_text_that_is_no_specification_is_kept_to_be_corrected(bench: Bench, text: str) -> None:
    page = bench.post("/import", 400, text=text)
    assert re.search("not valid YAML|not a statistics specification", sentence(page))
    assert f">{text}</textarea>" in page


def test_the_last_statistic_can_go_and_the_promise_stays(bench: Bench) -> None:
    bench.post("/import", text=specification(statistics={"a": {"kind": "mean", "of": "cost"}}, equations={}))
    page = bench.post("/remove", part="statistics", name="a")
    assert "Nothing yet" in page
    assert Desk(bench.project).document["release"] == "costs"


def test_missing_bounds_are_told_where_they_are_missing(bench: Bench) -> None:
    without = bench.project.schema().to_dict()
    del without["attributes"]["cost"]["domain"]
    kept = bench.project.schema().to_yaml()
    try:
        bench.project.change(schema=yaml.safe_dump(without))
        assert (
            "needs public bounds of 'cost'" in bench.get() or "Describe every attribute first" in bench.get()
        )
    finally:
        bench.project.change(schema=kept)
