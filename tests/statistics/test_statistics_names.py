"""Names identify: distinct filters, groups and measurements have distinct names, and figures go to the right one."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import ParameterError
from coterie.schema.exact import number_text
from coterie.statistics import plan, read_specification, release
from coterie.statistics.prediction.measurement import count, quantile, total
from coterie.statistics.prediction.value_grid import ValueGrid
from coterie.statistics.specification.equations import parse
from coterie.statistics.specification.filters import (
    Between,
    Filter,
    OneOf,
    label_text,
    read_value,
    split_labels,
)

TRICKY = [
    *(1234501.0, 1234502.0, 0.1, 0.2, 0.1 + 0.2, 0.3, 1e-17, 0.0, 2.0**53 - 1, 2.0**53, 2.0**53 + 2),
    *(
        -0.1,
        1e16,
        1e300,
        5e-324,
        "1",
        "1.0",
        "1234501",
        "a",
        "a, b",
        "b",
        "= a",
        "a and < 5",
        "x) | y",
        '"',
        "'",
    ),
    *(
        "",
        " a",
        "a ",
        "a\nb",
        "a\\nb",
        "2024-01-31",
        "2024-02-01",
        "in (a, b)",
        "\ud800",
        "²",
        "[a]",
        "all records",
    ),
]
VALUES = st.one_of(
    st.sampled_from(TRICKY), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=6)
)
COLUMNS = st.sampled_from(
    ["a", "b", "a = b", "a, b", "a in", "(a − 5)", "a²", "a·b", "a | b", 'a"', "1", " "]
)
CONDITIONS = st.one_of(
    st.lists(VALUES, min_size=1, max_size=3, unique=True).map(lambda v: OneOf(tuple(v))),
    st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False))
    .filter(lambda ends: ends[0] < ends[1])
    .map(lambda ends: Between(*ends)),
)


def _filter(parts: list[tuple[str, Any]]) -> Filter:
    found = Filter()
    for column, condition in parts:
        found = found & Filter(((column, condition),))
    return found


FILTERS = st.lists(st.tuples(COLUMNS, CONDITIONS), max_size=2).map(_filter)


@settings(max_examples=60, deadline=None)
@given(st.lists(FILTERS, min_size=2, max_size=4), st.lists(COLUMNS, min_size=1, max_size=2), st.floats(-9, 9))
def test_different_measurements_have_different_names(
    filters: list[Filter], columns: list[str], centre: float
) -> None:
    domain = ValueGrid.of(-10.0, 10.0)
    measured = [count(chosen) for chosen in filters]
    for chosen, column in itertools.product(filters, columns):
        measured += [
            total(chosen, ((column, c),), (domain,)) for c in (0.0, centre, math.nextafter(centre, 10))
        ]
        measured += [total(chosen, ((column, centre), (other, centre)), (domain,) * 2) for other in columns]
        measured += [
            quantile(chosen, column, domain, q, cells) for q in (0.5, 0.5 + 1e-12) for cells in (1024, 9)
        ]
    distinct = set(measured)
    assert len({m.name for m in distinct}) == len(distinct)
    for name in (m.name for m in distinct):
        assert name.isprintable() or not any(c in name for c in "\n\r\0")
        name.encode()  # also halves of surrogate pairs can be written


def test_the_bare_text_and_every_pair_of_tricky_values_differ() -> None:
    filters = [Filter((("zip", OneOf((value,))),)) for value in TRICKY]
    assert len({str(chosen) for chosen in filters}) == len(TRICKY)


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_itself(value: float) -> None:
    assert float(number_text(value)) == value


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=3))
def test_labels_survive_the_name_and_the_formula(labels: list[str]) -> None:
    name = ", ".join(label_text(label) for label in labels)
    assert split_labels(name) == labels
    written = ", ".join(repr(label) for label in labels)
    try:
        assert parse(f"n[{written}] + 1").arguments[0].name == f"n[{name}]"
    except ParameterError:
        assert "\0" in written or any(0xD800 <= ord(c) <= 0xDFFF for label in labels for c in label)


def _document(values: list[Any], **statistic: Any) -> dict[str, Any]:
    return {
        "coterie_statistics": 1,
        "release": "r",
        "population": "p",
        "schema": {"coterie_schema": 1, "attributes": {"zip": {"role": "keep"}}},
        "neighbours": "add-remove",
        "budget": {"epsilon": "100000"},  # the noise is 0: what comes out is what was counted
        "statistics": {"n": {"kind": "count", "by": {"zip": values}, **statistic}},
    }


def _released(document: dict[str, Any], table: pa.Table, folder: Path) -> dict[str, float]:
    folder.mkdir(exist_ok=True)
    made = release(read_specification(document), table, folder / "out.csv", seed=1)
    rows = list(csv.DictReader(io.StringIO(made.content.decode())))
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: float(row["value"]) for row in rows}


@pytest.mark.parametrize(
    "values",
    [
        [1234501, 1234502],
        [0.1 + 0.2, 0.3],
        [1e-17, 0.0],
        [2**53 - 1, 2**53],
        [-1, 1],
        [999999.5, 1000000],
    ],
)
def test_each_number_gets_its_own_count(values: list[float], tmp_path: Path) -> None:
    table = pa.table({"zip": pa.array([float(values[0])] * 100 + [float(values[1])] * 5)})
    found = _released(_document(values), table, tmp_path)
    assert list(found.values()) == [100.0, 5.0]


def test_each_bin_gets_its_own_count(tmp_path: Path) -> None:
    document = _document([1])
    edges = [1234500, 1234500.5, 1234501, 1234501.5]
    document["statistics"] = {"n": {"kind": "histogram", "of": "zip", "bins": edges}}
    table = pa.table({"zip": [1234500.25] * 3 + [1234500.75] * 20 + [1234501.25] * 7})
    found = _released(document, table, tmp_path)
    assert list(found.values()) == [3.0, 20.0, 7.0]
    assert next(iter(found)) == "n[1234500..1234500.5]"


def test_labels_with_commas_quotes_and_line_breaks_stay_apart(tmp_path: Path) -> None:
    labels = ["a, b", "a", "b", 'say "x"', "line\nbreak", "=1+1", "don't", "[z]"]
    document = _document(labels)
    document["equations"] = {"both": "n['a, b'] + n['say \"x\"']", "plain": "n[a] - n[b]"}
    table = pa.table({"zip": [label for i, label in enumerate(labels) for _ in range(2**i)]})
    found = _released(document, table, tmp_path)
    assert list(found.values()) == [float(2**i) for i in range(len(labels))] + [9.0, -2.0]
    assert all("\n" not in name for name in found)
    made = release(read_specification(document), table, tmp_path / "out.json", seed=1)
    assert [entry["name"] for entry in json.loads(made.content)["values"]] == list(found)


def test_two_columns_whose_labels_run_together_are_kept_apart() -> None:
    document = _document(["x, y", "x"])
    document["schema"]["attributes"]["b"] = {"role": "keep"}
    document["statistics"]["n"]["by"]["b"] = ["z", "y, z"]
    assert len({s.name for s in read_specification(document).statistics}) == 4


def test_a_ready_made_equation_finds_groups_by_their_full_names() -> None:
    document = _document(["a, b", "c"], expected={"a, b": 5, "c": 7})
    document["equations"] = {"r": {"ready": "ratio", "of": ['n["a, b"]', "n[c]"]}}
    specification = read_specification(document)
    assert [s.expected for s in specification.statistics] == [5, 7]
    assert plan(specification, report_losses=False).design.equations


@pytest.mark.parametrize("values", [[1, 1.0], [1, "1"], ["a", "a"], [0.0, -0.0]])
def test_a_group_asked_for_twice_is_refused(values: list[Any]) -> None:
    with pytest.raises(ParameterError, match="appears twice"):
        read_specification(_document(values))


def test_a_whole_number_that_no_double_equals_is_refused_not_merged() -> None:
    with pytest.raises(ParameterError, match="too long to be compared exactly"):
        read_specification(_document([2**53, 2**53 + 1]))
    assert read_value(-0.0, "x") == 0.0
    assert math.copysign(1.0, float(read_value(-0.0, "x"))) == 1.0


def test_equations_and_compatibility_characters_cannot_stand_for_another() -> None:
    document = _document(["a"])
    document["equations"] = {1: "n[a]", "1": "2 * n[a]"}
    with pytest.raises(ParameterError, match="appears twice"):
        read_specification(document)
    document = _document(["fi", "ﬁ"])
    document["equations"] = {"e": "n[ﬁ]"}
    with pytest.raises(ParameterError, match="would be read as 'fi'"):
        read_specification(document)
    document["equations"] = {"e": "n['ﬁ'] - n[fi]"}
    assert read_specification(document).equations[0].expression.arguments[0].name == "n[ﬁ]"
    document = _document(["a"])
    document["statistics"]["ﬁ"] = {"kind": "count"}
    with pytest.raises(ParameterError, match="cannot be used in a formula"):
        read_specification(document)
