"""`role: weight` and `totals:` in a schema: read, written back, and refused with a sentence where they cannot be meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import coterie
from coterie.errors import SchemaError
from coterie.schema.attributes import Schema

SEX = {
    "type": "categorical",
    "role": "protect",
    "categories": {"labels": ["1", "2"]},
    "value_labels": {"1": "man", "2": "woman"},
}
AGE = {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}}
WEIGHT = {"role": "weight", "domain": {"lower": 1, "upper": 400}}


def schema(totals: Any = None, weight: Any = WEIGHT, **more: Any) -> Schema:
    attributes = {"sex": SEX, "age": AGE, "w": weight, **more}
    return coterie.Schema.load({"totals": totals, "attributes": attributes})


def test_a_weight_is_protected_like_a_number() -> None:
    found = schema()
    assert found.weight is not None
    assert found.weight.name == "w"
    assert [a.name for a in found.protected] == ["sex", "age", "w"]
    assert found.raked is None
    assert coterie.Schema.load(found.to_yaml()) == found
    assert coterie.demo_schema().weight is None


def test_totals_are_read_by_code_or_in_words_and_written_back() -> None:
    for totals in ({"sex": {"man": 10, "woman": 20.5}}, {"sex": {"1": 10, "2": 20.5}}, 1000):
        found = schema(totals)
        assert found.raked is found.weight
        assert [a.name for a in found.protected] == ["sex", "age"]
        assert coterie.Schema.load(found.to_yaml()) == found
        assert found.to_dict()["totals"] == totals


def test_labels_of_totals_stand_as_they_are_written_in_yaml() -> None:
    text = """
totals: {answer: {yes: 10, no: 1_000}}
attributes:
  answer: {type: categorical, role: protect, categories: {labels: [yes, no]}}
  w: {role: weight}
"""
    found = coterie.Schema.load(text).totals
    assert found is not None
    assert found.by == {"answer": {"yes": 10, "no": 1000}}


def test_totals_may_have_a_file_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(f"totals: totals.yaml\n{schema().to_yaml()}", encoding="utf-8")
    for text in ("sex: {man: 10, woman: 20}", "---\ntotals:\n  sex: {1: 10, 2: 20}", "30"):
        (tmp_path / "totals.yaml").write_text(f"{text}\n", encoding="utf-8")
        found = coterie.Schema.load(path).totals
        assert found is not None
        assert found.population == 30
    (tmp_path / "totals.yaml").write_text("sex: [", encoding="utf-8")
    with pytest.raises(SchemaError, match="The file of totals is not valid YAML"):
        coterie.Schema.load(path)
    path.write_text(f"totals: other.yaml\n{schema().to_yaml()}", encoding="utf-8")
    with pytest.raises(SchemaError, match="The file of totals"):
        coterie.Schema.load(path)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({"domain": {"lower": 0, "upper": 9}}, "above 0"),
        ({"domain": {"lower": -1, "upper": 9}}, "above 0"),
        ({"type": "categorical"}, "a weight is a number"),
        ({"type": "date"}, "a weight is a number"),
        ({"missing": "impute"}, "every row has a weight"),
        ({"missing": "own category"}, "every row has a weight"),
        ({"domain": {"lower": 1, "upper": 9, "source": "dp"}}, "declared, not searched"),
    ],
)
def test_what_is_no_weight(weight: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema(weight={"role": "weight", **weight})


def test_there_is_one_weight() -> None:
    with pytest.raises(SchemaError, match="a table has one weight"):
        schema(other={"role": "weight"})


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        (0, "above 0"),
        (-5, "above 0"),
        (True, "above 0"),
        ({}, "by attribute and label"),
        ({"sex": 5}, "by attribute and label"),
        ({"sex": {"man": 5, "woman": 0}}, "above 0"),
        ({"sex": {"man": 5, "woman": "many"}}, "above 0"),
        ({"sex": {"man": 5}}, "label '2' without a total"),
        ({"sex": {"man": 5, "woman": 5, "other": 1}}, "has no label 'other'"),
        ({"age": {"1": 5}}, "not a protected attribute with labels"),
        ({"region": {"north": 5}}, "no attribute is named 'region'"),
    ],
)
def test_totals_that_cannot_be_meant(totals: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema(totals)


def test_totals_that_contradict_each_other() -> None:
    member = {"type": "boolean", "role": "protect"}
    with pytest.raises(SchemaError, match="different populations"):
        schema({"sex": {"1": 50, "2": 50}, "member": {"true": 50, "false": 60}}, member=member)
    rounded = schema(
        {"sex": {"1": 50000, "2": 50000}, "member": {"true": 50000, "false": 50010}}, member=member
    )
    assert rounded.totals is not None
    assert rounded.totals.population == 100_000


def test_totals_need_a_weight_that_is_no_whole_number() -> None:
    with pytest.raises(SchemaError, match="no attribute has `role: weight`"):
        coterie.Schema.load({"totals": 10, "attributes": {"age": AGE}})
    with pytest.raises(SchemaError, match="type: continuous"):
        schema(10, weight={"role": "weight", "type": "integer"})
