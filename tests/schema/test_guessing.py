"""What a draft takes a column for: codes, counts, weights, numbers of persons, special codes, free text."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.drafts import scores

import coterie
from coterie import Schema
from coterie.errors import DataError
from coterie.schema.codebook import Variable
from coterie.schema.guessing import Guess, guess_column

DRAW = np.random.default_rng(11)  # only while this file is read: no test depends on those before it
ROWS = 1000


def guess(name: str, cells: Any, **said: Any) -> Guess:
    return guess_column(name, pa.chunked_array([pa.array(cells)]), Variable(**said))


def mixed(values: Any, *marks: float, share: float = 0.05) -> Any:
    cells = np.asarray(values, float)
    for seed, mark in enumerate(marks):
        cells = np.where(np.random.default_rng(seed).random(len(cells)) < share, mark, cells)
    return cells


CODES = DRAW.integers(1, 6, ROWS)
AGES = DRAW.integers(18, 90, ROWS)
PAY = DRAW.lognormal(7.5, 0.6, ROWS).round()
YES_NO = DRAW.integers(1, 3, ROWS)
ZERO_TO_TEN = DRAW.integers(0, 11, ROWS)
WEIGHTS = DRAW.lognormal(5, 0.5, ROWS)
KILOS = DRAW.normal(76, 13, ROWS).round(1)
SHUFFLED = DRAW.permutation(ROWS)
PARTS = DRAW.integers(1, 50, (3, 200))


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("q7", CODES, "categorical"),
        ("q7", CODES.astype(float), "categorical"),
        ("n_children", DRAW.integers(0, 6, ROWS), "integer"),
        ("hhsize", DRAW.integers(1, 7, ROWS), "integer"),
        ("country", DRAW.choice([40, 56, 250, 276], ROWS), "categorical"),
        ("isco08", DRAW.choice(np.arange(1111, 9629, 60), ROWS), "categorical"),
        ("age", AGES, "integer"),
        ("x", AGES, "integer"),
        ("v7", np.repeat(np.arange(12, 36), np.r_[10:250:20, 240:0:-20]), "integer"),
        ("v7", np.repeat(np.arange(1, 25), [90, 30] * 12), "categorical"),
        ("pay", PAY + 0.5, "continuous"),
        ("v7", DRAW.permutation(np.arange(1, 44).repeat(30)), "categorical"),
        (
            "v7",
            DRAW.permutation(np.array([11, 12, 21, 22, 33, 35, 41, 43, 50, 53, 61, 64, 70]).repeat(30)),
            "categorical",
        ),
        ("v7", DRAW.permutation(np.arange(18, 61).repeat(30)), "integer"),
        ("v7", np.arange(9).repeat([300, 350, 200, 90, 40, 20, 9, 4, 2]), "integer"),
        ("v7", DRAW.permutation(np.arange(0, 200, 10).repeat(30)), "integer"),
        ("wiek", DRAW.integers(0, 18, ROWS), "integer"),
        ("mark_maths", DRAW.integers(1, 7, ROWS), "ordinal"),
        ("when", [dt.date(2020, 1, 1)] * 30, "date"),
        ("when", ["2020-01-01", "2021-12-31"] * 20, "date"),
        ("when", ["2020-01-01 12:00", "2021-12-31T08:30:00Z"] * 20, "timestamp"),
        ("how_often", ["never", "sometimes", "often", "always"] * 20, "ordinal"),
        ("safe", ["Very safe", "Fairly safe", "A bit unsafe", "Very unsafe"] * 20, "ordinal"),
        ("salud", ["muy buena", "buena", "regular", "mala", "no sabe"] * 20, "ordinal"),
        ("colour", ["red", "green", "blue"] * 20, "categorical"),
        ("icd", [f"A{n:03d}" for n in range(150)] * 8, "categorical"),
    ],
)
def test_types(name: str, cells: Any, kind: str) -> None:
    found = guess(name, cells)
    assert found.type == kind


@pytest.mark.parametrize(
    ("name", "cells", "suggestion"),
    [
        ("person_id", np.arange(ROWS), ""),
        ("v1", 5000 + DRAW.permutation(ROWS), ""),
        ("v1", DRAW.choice(np.arange(10**7, 10**8), ROWS, replace=False), ""),
        ("hhid", np.sort(DRAW.integers(1, 300, ROWS)), "unit"),
        ("household_number", np.sort(DRAW.integers(1, 300, ROWS)), "unit"),
        ("nr_gosp", np.sort(DRAW.integers(1, 300, ROWS)), "unit"),
        ("idhogar", np.sort(DRAW.integers(1, 300, ROWS)), "unit"),
        ("CNTSCHID", np.sort(DRAW.integers(1, 300, ROWS)), "unit"),
        ("person_id", DRAW.integers(10**6, 10**6 + 400, ROWS), "unit"),
        ("name", [f"Person {n}" for n in range(ROWS)], ""),
        ("remarks", [f"{n} long words about everything that happened on that day" for n in range(ROWS)], ""),
        ("key", [f"{n:x}-{n * 7:x}" for n in range(ROWS)], ""),
        ("cost", ["12.5", "about 3", *[f"{n}.25" for n in range(60)]], ""),
    ],
)
def test_what_is_dropped(name: str, cells: Any, suggestion: str) -> None:
    found = guess(name, cells)
    assert (found.type, found.suggestion) == (None, suggestion)


@pytest.mark.parametrize("name", ["income", "turnover", "salary_2020"])
def test_an_amount_is_no_identifier_however_different_its_values(name: str) -> None:
    cells = 100_000 + 137 * SHUFFLED
    assert guess(name, cells).type == "integer"


def test_weights_of_surveys_not_of_bodies() -> None:
    for name in (
        "weight",
        "hhweight",
        "pspwght",
        "WTINT2YR",
        "design_wt",
        "indivwgt",
        "W_FSTUWT",
        "coef_ext",
    ):
        assert guess(name, WEIGHTS).suggestion == "weight", name
    assert guess("v12", WEIGHTS, label="Final person weight").suggestion == "weight"
    assert guess("v1028", WEIGHTS, label="Peso do domicílio").suggestion == "weight"
    assert guess("income_household", PAY).suggestion == ""
    for name in ("weight", "weight_kg", "body_weight", "birthwt"):
        assert guess(name, KILOS).suggestion == "", name


@pytest.mark.parametrize(
    ("name", "cells", "marks"),
    [
        ("q", mixed(CODES, 99), {"99"}),
        ("q", mixed(CODES, 97, 98, 99), {"97", "98", "99"}),
        ("q", mixed(DRAW.integers(1, 5, ROWS), 8, 9), {"8", "9"}),
        ("q", mixed(CODES, -9, -8), {"-9", "-8"}),
        ("age", mixed(AGES, 999), {"999"}),
        ("age", mixed(AGES, 99), {"99"}),
        ("hours", mixed(DRAW.integers(0, 77, ROWS), 98, 99), {"98", "99"}),
        ("income", mixed(PAY, 9_999_999), {"9999999"}),
        ("income", mixed(PAY, -1), {"-1"}),
        ("age", AGES, set()),
        ("balance", DRAW.integers(-5, 6, ROWS), set()),
        ("temperature", DRAW.integers(-9, 30, ROWS), set()),
        ("q", DRAW.integers(1, 11, ROWS), set()),
        ("percent", DRAW.integers(0, 101, ROWS), set()),
    ],
)
def test_special_codes(name: str, cells: Any, marks: set[str]) -> None:
    assert set(guess(name, cells).marks) == marks


def test_dates_in_another_way_of_writing_are_pointed_out() -> None:
    for cells in ([19_800_101 + n for n in range(28)], [f"{1 + n}/2/1980" for n in range(28)]):
        assert "Looks like dates" in guess("dob", cells).notes[0]


def test_a_column_without_any_answer_is_drafted_too() -> None:
    for cells in ([9] * 30, [9.0] * 30, ["9", "NA"] * 20):
        found = guess("q", cells, value_labels={"1": "Yes", "9": "Refused"}, missing=("9",))
        assert found.type is not None
        assert "9" in found.marks
    table = pa.table({"q": pa.array([None, None, float("inf")] * 10), "r": ["", " ", ""] * 10})
    assert len(Schema.draft(table, bounds_from_data=1.5).schema.attributes) == 2


def test_no_value_but_a_usual_code_is_ever_named() -> None:
    found = guess("income", mixed(PAY, 4_711_000))
    assert (found.marks, found.found) == ((), ())


def test_marks_among_numbers_do_not_make_them_text() -> None:
    cells = [str(value) for value in AGES]
    cells[:40] = ["NA"] * 30 + ["?"] * 10
    found = guess("age", cells)
    assert (found.type, set(found.marks)) == ("integer", {"NA", "?"})
    draft = Schema.draft(pa.table({"age": cells}), bounds_from_data=1.5)
    assert draft.schema["age"].bounds().upper == 134
    for gap in ("Ne sait pas", "weiß nicht", "ns/nc", "n.a.", "Don't know"):
        assert guess("q", ["yes", "no", gap] * 20).marks == (gap,)
    assert guess("q", ["granted", "refused asylum", "non-resident"] * 20).marks == ()


def test_the_dictionary_of_the_file_is_believed() -> None:
    words = {"1": "Yes", "2": "No", "7": "Refused"}
    found = guess("q", mixed(YES_NO, 7), value_labels=words)
    assert (found.type, found.labels, found.marks) == ("categorical", ("1", "2"), ("7",))
    likert = dict(
        zip("12345", ["Strongly disagree", "Disagree", "Neither", "Agree", "Strongly agree"], strict=True)
    )
    assert guess("q", CODES, value_labels=likert).type == "ordinal"
    assert guess("q", CODES, value_labels=dict.fromkeys("12345", "x"), measure="ordinal").type == "ordinal"
    ends = {"0": "Not at all", "10": "Completely"}
    scale = guess("q", ZERO_TO_TEN, value_labels=ends)
    assert (scale.type, scale.labels) == ("ordinal", tuple(map(str, range(11))))
    partly = guess("q", CODES, value_labels={"1": "red", "2": "blue"})
    assert (partly.type, partly.labels) == ("categorical", ("1", "2"))
    assert "does not name every code" in partly.notes[0]
    top = guess("age", AGES, value_labels={"89": "89 or older"})
    assert (top.type, top.labels) == ("integer", ()), "one number with words is no list of codes"
    ranged = guess("q", mixed(CODES, 96, 97), missing=("96 to 99",))
    assert (ranged.type, ranged.marks) == ("categorical", ("96 to 99",))
    assert guess("q", CODES, measure="scale").type == "integer"


def test_labels_of_the_file_count_as_from_the_data_until_a_codebook_is_named(tmp_path: Path) -> None:
    field = pa.field("sex", pa.int64(), metadata=Variable(value_labels={"1": "m", "2": "f"}).as_metadata())
    table = pa.table([pa.array([1, 2] * 20)], schema=pa.schema([field]))
    draft = Schema.draft(table)
    assert draft.to_fill == []
    assert draft.schema["sex"].from_data == "labels of sex"
    told = Schema.draft(table, codebook="codebook 2024, page 12").schema["sex"]
    assert (told.from_data, told.categories.reasons) == ("", "codebook 2024, page 12")
    assert told.value_labels == (("1", "m"), ("2", "f"))


@pytest.mark.parametrize("text", [False, True])
def test_a_code_that_the_dictionary_lacks_is_no_label_of_the_codebook(text: bool) -> None:
    """It came from the data, whatever somebody says about the codebook; the table is refused until it is settled."""
    cells = [1, 2] * 20 + [3]
    said = Variable(value_labels={"1": "m", "2": "f", "9": "no answer"})
    column = pa.array(list(map(str, cells)) if text else cells)
    field = pa.field("sex", column.type, metadata=said.as_metadata())
    table = pa.table([column], schema=pa.schema([field]))
    draft = Schema.draft(table)
    assert "does not name every code that occurs" in draft.text
    assert draft.schema["sex"].from_data == "labels of sex"
    named = Schema.draft(table, codebook="codebook 2024").schema
    assert named["sex"].categories.labels == ("1", "2")
    with pytest.raises(DataError, match="not among its labels"):
        coterie.protect(table, named, method="dp-synthetic", epsilon=1)
    asked = Schema.draft(table, bounds_from_data=1.5, codebook="codebook 2024").schema["sex"]
    if not text:
        assert asked.categories.labels == ("1", "2", "3")
    assert bool(asked.from_data) is not text


def test_a_scale_of_which_only_the_ends_are_named_has_no_label_that_means_missing() -> None:
    cells = np.r_[ZERO_TO_TEN, [5] * 10]
    found = guess("q", cells, value_labels={"0": "no", "10": "yes", "5": "don't know"})
    assert "5" in found.marks
    assert found.labels == ("0", "1", "2", "3", "4", "6", "7", "8", "9", "10")


def test_suggestions_stand_in_the_draft_and_in_the_frame() -> None:
    table = pa.table(
        {
            "hh": np.repeat(np.arange(200), 3),
            "weight": np.resize(WEIGHTS, 600),
            "q": np.tile([1, 2, 3], 200),
        }
    )
    draft = coterie.Schema.draft(table)
    assert dict(draft.suggestions) == {"hh": "unit", "weight": "weight"}
    assert (
        "\n# unit: {column: hh, name: household, at_most: }\n" in draft.text
    )  # nothing of it comes from the data
    assert draft.schema.unit is None
    filled = draft.text.replace(
        "# unit: {column: hh, name: household, at_most: }", "unit: {column: hh, name: household, at_most: 3}"
    )
    assert coterie.Schema.load(filled).unit is not None
    assert "role: weight  # from the data, confirm" in draft.text
    assert draft.schema.weight is not None
    assert draft.text.count("from the data, confirm") >= 5
    assert draft.to_frame()["suggestion"].to_pylist() == ["unit", "weight", ""]


def test_of_two_weights_somebody_must_choose_one() -> None:
    table = pa.table({"weight": np.resize(WEIGHTS, 600), "hhweight": np.resize(WEIGHTS, 600) + 1})
    draft = coterie.Schema.draft(table)
    assert draft.schema.weight is None
    assert draft.text.count("not the only one: from the data, confirm, and write `role: weight`") == 2


def test_a_weight_gets_a_lower_bound_above_zero_from_the_data() -> None:
    table = pa.table({"weight": np.resize(WEIGHTS, 600)})
    weight = coterie.Schema.draft(table, bounds_from_data=1.5).schema.weight
    assert weight is not None
    assert weight.from_data == "bounds of weight"
    assert weight.bounds().lower == pytest.approx(np.min(WEIGHTS) / 1.5)
    zero = pa.table({"weight": [0.0, *np.resize(WEIGHTS, 599)]})
    assert coterie.Schema.draft(zero, bounds_from_data=1.5).to_fill == ["weight"]


def test_sums_are_pointed_out() -> None:
    parts, total = PARTS, PARTS.sum(axis=0)
    table = pa.table({"a": parts[0], "b": parts[1], "c": parts[2], "total": total})
    assert "# a + b + c = total in every row" in Schema.draft(table).text
    shares = pa.table({"a": parts[0] / total, "b": parts[1] / total, "c": parts[2] / total})
    assert "# a to c have one sum in every row" in Schema.draft(shares).text
    assert (
        "in every row: from" not in Schema.draft(pa.table({"a": parts[0], "b": parts[1], "c": parts[2]})).text
    )


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="a header but no rows"):
        Schema.draft(tmp_path / "t.csv")


def test_nine_of_ten_columns_are_right_on_files_of_every_kind(tmp_path: Path) -> None:
    total = faults = 0
    for title, _, columns, wrong in scores(tmp_path):
        assert len(wrong) <= 0.2 * columns, (title, wrong)
        total, faults = total + columns, faults + len(wrong)
    assert total > 200
    assert faults <= 0.1 * total


def test_decimal_commas_beside_decimal_points_are_no_labels_and_no_text(tmp_path: Path) -> None:
    """Such a file has no dialect. Its numbers were labels, or dropped as text, without a word of why."""
    rows = "".join(f"{10 + n % 7},5;{n},25;{n}.5\n" for n in range(60))
    (tmp_path / "mixed.csv").write_text("wgt;pay;start\n" + rows)
    draft = Schema.draft(tmp_path / "mixed.csv")
    assert [a.type.value for a in draft.schema.attributes] == ["continuous"] * 3
    assert draft.suggestions == {"wgt": "weight"}
    assert draft.text.count("decimal comma, but other columns have decimal points") == 2
