"""Codes in words and missing codes: declared in the schema, read from any column, written back as they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coterie import Schema, protect
from coterie.errors import DataError, SchemaError
from coterie.schema.codebook import Variable, mark_range
from coterie.table.checked import column_of
from coterie.table.columns.cells import codes as codes_of

SEX = {
    "type": "categorical",
    "role": "protect",
    "missing": "own category",
    "missing_marks": ["9", "97 to 99", "lowest to -1"],
    "value_labels": {1: "male", 2: "female", 9: "refused", 99: "no answer"},
}


def schema(**entries: Any) -> Schema:
    return Schema.load({"attributes": {"a": {**SEX, **entries}}})


def codes(described: Schema, cells: list[Any]) -> list[int]:
    """Places in the list of labels; -1 is missing."""
    labels = described["a"].categories.labels
    return codes_of(pa.chunked_array([pa.array(cells)]), labels, described["a"]).tolist()


def test_codes_with_words_are_the_labels_but_for_missing_ones() -> None:
    assert schema()["a"].categories.labels == ("1", "2")
    own = schema(categories={"source": "data", "public_because": "codebook"})
    assert own["a"].categories.labels == ("1", "2")
    assert not own["a"].from_data


@pytest.mark.parametrize(
    "cells",
    [
        [1, 2, 9, 98, -3, None],
        [1.0, 2.0, 9.0, 97.0, -1.5, float("nan")],
        ["1", " 2.0", "9", "99", "-7", ""],
        ["male", "female ", "refused", "no answer", "98", None],
    ],
)
def test_a_cell_is_a_code_its_words_or_missing(cells: list[Any]) -> None:
    assert codes(schema(), cells) == [0, 1, -1, -1, -1, -1]


def test_words_that_stand_for_two_codes_stand_for_none() -> None:
    described = schema(value_labels={1: "yes", 2: "yes", 3: "no"})
    assert codes(described, ["1", "2", "no"]) == [0, 1, 2]
    with pytest.raises(DataError, match="not among its labels"):
        codes(described, ["yes", "no"])


def test_a_code_that_contradicts_the_labels_is_refused_without_its_value() -> None:
    with pytest.raises(DataError, match="Column 'a' has values that are not among its labels") as caught:
        codes(schema(), [1, 4711])
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("values", [[1, 97, 98.5, -3, 50], ["1", "97", "98.5", "-3", "50"]])
def test_ranges_of_numbers_are_missing_in_numbers_too(values: list[Any]) -> None:
    described = Schema.load(
        {
            "attributes": {
                "a": {
                    "type": "continuous",
                    "role": "protect",
                    "missing_marks": ["97 to 99", "lowest to -1"],
                    "domain": {"lower": 0, "upper": 96},
                }
            }
        }
    )
    column = column_of(pa.chunked_array([pa.array(values)]), described["a"], described)
    np.testing.assert_array_equal(np.isnan(column.values), [False, True, True, True, False])


def test_it_is_written_and_read_back_as_it_stands() -> None:
    text = """\
attributes:
  a:
    label: "Do you: smoke?"
    type: categorical
    role: protect
    value_labels: {01: yes, 1: no, 2: 010}
    format: F2.0
"""
    described = Schema.load(text)["a"]
    assert described.value_labels == (("01", "yes"), ("1", "no"), ("2", "010"))
    again = Schema.load(Schema.load(text).to_yaml())["a"]
    assert again == described


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"value_labels": {1: "male", 5: "other"}, "categories": ["1", "2"]}, "the code 5, which is neither"),
        ({"value_labels": {1: "2", 2: "1"}}, "which are another code"),
        ({"value_labels": {}}, "each code one label"),
        ({"value_labels": {1: " "}}, "each code one label"),
        ({"format": "F8 2; drop"}, "display format"),
        ({"label": ""}, "label"),
        ({"categories": ["1", "2", "9"]}, "'9' is among the labels, and missing_marks says"),
        ({"categories": ["1", "2", "98.0"]}, "'98.0' is among the labels"),
        ({"categories": ["1", "2", "9"], "missing_marks": ["9.0"]}, "'9' is among the labels"),
        ({"missing_marks": ["refused"]}, "the words 'refused', but not their code; write the code 9"),
    ],
)
def test_a_contradiction_is_told(entries: dict[str, Any], problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        schema(**entries)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"type": "boolean", "missing_marks": ["No"]}, "'no' is among the labels"),
        ({"type": "boolean", "missing_marks": ["0 to 5"]}, "among the labels"),
        (
            {"type": "integer", "domain": {"lower": 0, "upper": 9}, "missing_marks": ["lowest to 9"]},
            "covers the whole",
        ),
    ],
)
def test_marks_that_leave_no_answer_are_refused(entries: dict[str, Any], problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        Schema.load({"attributes": {"a": {"role": "protect", **entries}}})


def test_a_mark_is_a_number_where_it_is_written_as_one() -> None:
    described = schema(missing_marks=["9.0", "97 to 99"])
    assert described["a"].categories.labels == ("1", "2")
    assert codes(described, [1, 9, 97]) == [0, -1, -1]
    assert codes(described, ["1", "9", "9.00"]) == [0, -1, -1]


def test_a_mark_in_a_taxonomy_is_refused() -> None:
    described = schema(
        value_labels=None, missing_marks=["Sales"], categories={"taxonomy": "adult:occupation"}
    )
    with pytest.raises(SchemaError, match="a missing mark that is a category of its taxonomy"):
        column_of(pa.chunked_array([["Sales"]]), described["a"], described)


def test_a_mark_inside_the_domain_is_told() -> None:
    """99 years are an age; where 99 means 'no answer', nobody is 99 in the release."""
    described = Schema.load(
        {
            "attributes": {
                "age": {
                    "type": "integer",
                    "role": "protect",
                    "missing": "own category",
                    "missing_marks": ["99", "-8", "115 to highest", "?"],
                    "domain": {"lower": 0, "upper": 120},
                },
                "day": {
                    "type": "date",
                    "role": "protect",
                    "missing_marks": ["1900-01-01", "2099-12-31", "99"],
                    "domain": {"lower": "1900-01-01", "upper": "2030-01-01"},
                },
            }
        }
    )
    release = protect(
        {"age": [1, 99], "day": ["2020-01-01"] * 2}, described, method="laplace", epsilon=1, seed=1
    )
    told = "read as missing, although the domain holds it: 99, 115 to highest in age; 1900-01-01 in day"
    assert told in release.certificate.notes


def test_codes_written_twice_are_refused() -> None:
    for labels in ("{1: a, 1: b}", "{1: [a]}"):
        with pytest.raises(SchemaError, match=r"'1' appears twice|each code one text"):
            Schema.load(f"attributes:\n  a: {{type: categorical, role: protect, value_labels: {labels}}}\n")


def test_ranges_are_read_as_written() -> None:
    assert mark_range("97 to 99") == (97, 99)
    assert mark_range("lowest to -1") == (-np.inf, -1)
    assert mark_range("9.5 to highest") == (9.5, np.inf)
    assert [mark_range(mark) for mark in ("97", "a to b", "to", "1-5", "97to99")] == [None] * 5


def test_what_a_dictionary_says_survives_a_field() -> None:
    said = Variable("Sex", {"1": "male"}, ("x",), ("9", "1 to 2"), "ordinal", "F2.0")
    assert Variable.of(pa.field("a", pa.int8(), metadata=said.as_metadata()).metadata) == said
    assert Variable.of(None) == Variable.of({b"other": b"x"}) == Variable()
