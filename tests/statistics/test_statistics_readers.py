"""One record changes an exact measurement by its declared sensitivity at most, or the table is refused: for every reader.

The sensitivities are proofs about values. They say nothing if one cell can change how others are read.
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import gzip
import io
import itertools
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie import Schema
from coterie.errors import CoterieError
from coterie.statistics import plan, read_specification
from coterie.statistics.planning.plan import Plan
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import Kind
from coterie.statistics.releasing.measuring import Noise, compute, read_people
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import make_release
from coterie.statistics.specification.cells import Cells, reachable
from coterie.statistics.specification.specification import Neighbours
from coterie.table.checked import column_of
from workbooks import write_xlsx

Row = tuple[Any, Any, Any, Any, Any]
NAMES = ("name", "answer", "code", "hours", "pay")
SCHEMA = {
    "coterie_schema": 1,
    "attributes": {
        "name": {"role": "identifier", "type": "categorical"},
        "answer": {"role": "keep", "type": "categorical", "categories": {"labels": ["yes", "no"]}},
        "code": {"role": "keep", "type": "categorical", "categories": {"labels": ["1", "2"]}},
        "hours": {
            "role": "protect",
            "type": "integer",
            "domain": {"lower": 0, "upper": 99},
            "missing": "impute",
            "outside": "clip",
        },
        "pay": {
            "role": "protect",
            "domain": {"lower": 0, "upper": 1000},
            "missing": "impute",
            "outside": "clip",
        },
    },
}
PEOPLE: list[Row] = [
    (f"person {i}", "yes" if i % 3 == 0 else "no", 1 if i % 4 else 2, 20 + i, 100.5 * (i % 7))
    for i in range(11)
]
REPLACEMENTS: dict[str, Row] = {
    "an ordinary record": ("Eve", "yes", 2, 99, 1000.0),
    "quotes": ('Bob "B" Smith', "no", 1, 30, 5.0),
    "half a quote": ('Bob "B', "no", 1, 30, 5.0),
    "a delimiter": ("Smith, Bob; Jr\tx", "no", 1, 30, 5.0),
    "a line break": ("Smith\nBob", "no", 1, 30, 5.0),
    "a gap in the labels": ("Eve", None, None, 30, 5.0),
    "a gap in the numbers": ("Eve", "no", 1, None, None),
    "not a number": ("Eve", "no", 1, 30, float("nan")),
    "a label stored as a float": ("Eve", "no", 1.0, 30, 5.0),
    "whole hours as a float": ("Eve", "no", 1, 30.0, 5.0),
    "a whole pay": ("Eve", "no", 1, 30, 5),
    "far outside": ("Eve", "no", 1, 10**6, -1e300),
    "no double": ("Eve", "no", 1, 30, 10**400),
    "an unknown label": ("Eve", "maybe", 7, 30, 5.0),
    "a word for a number": ("Eve", "no", 1, "many", "much"),
    "a NUL": ("E\0ve", "no", 1, 30, 5.0),
}


def frame(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}


def as_csv(rows: list[Row], delimiter: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator="\n")  # type: ignore[arg-type]
    writer.writerow(NAMES)
    writer.writerows(rows)
    return stream.getvalue()


def sqlite(rows: list[Row], folder: Path) -> tuple[str, str]:
    file = folder / "data.sqlite"
    file.unlink(missing_ok=True)
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE TABLE people (name TEXT, answer TEXT, code INTEGER, hours INTEGER, pay REAL)"
        )
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{file}", "people"


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def parquet(rows: list[Row], folder: Path) -> Path:
    pq.write_table(pa.table(frame(rows)), folder / "data.parquet")
    return folder / "data.parquet"


def arrow(rows: list[Row], folder: Path) -> Path:
    table = pa.table(frame(rows))
    with (
        pa.OSFile(str(folder / "data.arrow"), "wb") as stream,
        pa.ipc.new_file(stream, table.schema) as writer,
    ):
        writer.write_table(table)
    return folder / "data.arrow"


READERS: dict[str, Callable[[list[Row], Path], Any]] = {
    "csv": lambda rows, folder: written(folder / "d.csv", as_csv(rows).encode()),
    "quoted csv": lambda rows, folder: written(
        folder / "d.csv", as_csv(rows, quoting=csv.QUOTE_ALL).encode()
    ),
    "tsv": lambda rows, folder: written(folder / "d.tsv", as_csv(rows, "\t").encode()),
    "csv.gz": lambda rows, folder: written(folder / "d.csv.gz", gzip.compress(as_csv(rows).encode())),
    "parquet": parquet,
    "arrow file": arrow,
    "spreadsheet": lambda rows, folder: write_xlsx(folder / "d.xlsx", {"people": [NAMES, *rows]}),
    "dict": lambda rows, folder: frame(rows),
    "pandas": lambda rows, folder: pd.DataFrame(frame(rows)),
    "polars": lambda rows, folder: pl.DataFrame(frame(rows), strict=False),
    "pyarrow": lambda rows, folder: pa.table(frame(rows)),
    "sqlite": sqlite,
}


@cache  # a plan does not depend on who reads the records
def planned(neighbours: str = "replace-one", records: int | None = 12) -> Plan:
    statistics = {
        "n": {"kind": "count", "by": {"answer": ["yes", "no"], "code": [1, 2]}},
        "old": {"kind": "count", "where": {"hours": {"from": 25}}},
        "s": {"kind": "sum", "of": "hours", "where": {"answer": "no"}},
        "m": {"kind": "mean", "of": "pay", "route": "direct", "at_least": 5},
        "v": {"kind": "variance", "of": "pay", "route": "direct", "where": {"code": 1}, "at_least": 3},
        "q": {"kind": "median", "of": "hours"},
    }
    content = {
        "release": "r",
        "schema": SCHEMA,
        "neighbours": neighbours,
        "budget": {"epsilon": "1"},
        "statistics": statistics,
        **({} if records is None else {"records": records}),
    }
    return plan(read_specification(content), report_losses=False)


def measured_of(chosen: Plan, data: Any) -> dict[str, Any]:
    source, table = data if isinstance(data, tuple) else (data, None)
    return compute(chosen.design, open_records(source, table))


@pytest.mark.parametrize("reader", READERS)
def test_no_record_changes_how_another_is_read(reader: str, tmp_path: Path) -> None:
    chosen = planned()
    rows = [*PEOPLE, ("Zoe", "yes", 2, 41, 77.0)]
    before = measured_of(chosen, READERS[reader](rows, tmp_path))
    understood = 0
    for name, replacement in REPLACEMENTS.items():
        try:
            data = READERS[reader]([*PEOPLE, replacement], tmp_path)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue  # this frame or format cannot hold such a cell
        try:
            after = measured_of(chosen, data)
        except CoterieError:
            continue
        understood += 1
        for m in chosen.design.measurements:
            if m.kind is Kind.QUANTILE:  # counts of candidates: one record leaves one and enters another
                assert abs(after[m.name] - before[m.name]).sum() <= 2, (name, m.name)
            else:
                assert abs(after[m.name] - before[m.name]) <= m.moved(Neighbours.REPLACE_ONE, 1), (
                    name,
                    m.name,
                )
    assert understood >= 6


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_the_same_numbers(reader: str, tmp_path: Path) -> None:
    chosen = planned(records=11)
    found = measured_of(chosen, READERS[reader](PEOPLE, tmp_path))
    expected = measured_of(chosen, pa.table(frame(PEOPLE)))
    for name, value in expected.items():
        assert (found[name] == value).all() if hasattr(value, "all") else found[name] == value, name
    assert (
        sum(found[m.name] for m in chosen.design.measurements if "code" in m.name and m.kind is Kind.COUNT)
        >= 11
    )


def test_quotes_in_one_record_of_five_thousand(tmp_path: Path) -> None:
    """DuckDB guessed the quoting from the rows: n[no] fell from 4001 to 0, and the status was `proved`."""
    chosen = planned(records=5001)
    rows = [(f"person {i}", "yes" if i < 1000 else "no", 1, 3, 1.0) for i in range(5000)]
    plain = as_csv([*rows, ("Bob", "no", 1, 3, 1.0)], quoting=csv.QUOTE_ALL)
    broken = plain.replace('"Bob"', '"Bob "B" Smith"')
    counts = []
    for text in (plain, broken):
        try:
            found = measured_of(chosen, written(tmp_path / "d.csv", text.encode()))
        except CoterieError:
            continue
        counts.append(
            sum(v for name, v in found.items() if name.startswith("count") and "answer = no" in name)
        )
    assert counts
    assert counts[0] == 4001
    assert all(abs(count - 4001) <= 1 for count in counts)


STORED: dict[str, list[Any]] = {
    "whole numbers": [1] * 10 + [2],
    "a gap": [1] * 10 + [None],
    "floats": [1.0] * 10 + [2.0],
    "texts": ["1"] * 10 + ["2"],
    "texts with a point": ["1.0"] * 10 + ["2.0"],
    "decimals": [decimal.Decimal("1.00")] * 10 + [decimal.Decimal("2.00")],
}


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "parquet", "polars"])
def test_a_label_is_its_number_however_it_is_stored(
    stored: str, declared: bool, kind: str, tmp_path: Path
) -> None:
    """[1]*10+[2] was stored as int64 and counted 10; [1]*10+[None] as float64, "1.0", and counted 0."""
    attribute: dict[str, Any] = {"role": "keep"}
    if declared:
        attribute |= {"type": "categorical", "categories": {"labels": ["1", "2"]}}
    content = {
        "release": "r",
        "schema": {"coterie_schema": 1, "attributes": {"code": attribute}},
        "neighbours": "add-remove",
        "budget": {"epsilon": "1"},
        "statistics": {"n": {"kind": "count", "where": {"code": "1"}}},
    }
    chosen = plan(read_specification(content), report_losses=False)
    data: Any = pa.table({"code": STORED[stored]})
    if kind == "parquet":
        pq.write_table(data, tmp_path / "d.parquet")
        data = tmp_path / "d.parquet"
    elif kind != "pyarrow":
        data = (
            pd.DataFrame({"code": STORED[stored]})
            if kind == "pandas"
            else pl.DataFrame({"code": STORED[stored]})
        )
    assert list(measured_of(chosen, data).values()) == [10]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"answer": "maybe"}, "not among the"),
        ({"hours": 200}, "outside its declared domain"),
        ({"hours": {"from": 100}}, "outside its declared domain"),
        ({"hours": "many"}, "not a"),
        ({"code": [3]}, "not among the"),
    ],
)
def test_a_value_that_no_record_can_have_is_refused_before_any_data_are_opened(
    where: dict[str, Any], message: str
) -> None:
    content = {
        "release": "r",
        "schema": SCHEMA,
        "neighbours": "add-remove",
        "budget": {"epsilon": "1"},
        "statistics": {"n": {"kind": "count", "where": where}},
    }
    with pytest.raises(CoterieError, match=message):
        read_specification(content)


def test_two_spellings_of_one_label_are_refused() -> None:
    """They would look disjoint and pay once for a record that is in both."""
    content = {
        "release": "r",
        "schema": {"coterie_schema": 1, "attributes": {"x": {"role": "keep"}}},
        "neighbours": "add-remove",
        "budget": {"epsilon": "1"},
        "statistics": {
            "a": {"kind": "count", "where": {"x": "1"}},
            "b": {"kind": "count", "where": {"x": "1.0"}},
        },
    }
    with pytest.raises(CoterieError, match="two ways"):
        read_specification(content)


@pytest.mark.parametrize("make", [dict, pd.DataFrame])
def test_one_zone_does_not_move_the_days_of_others(make: Callable[[Any], Any]) -> None:
    """Frames of Python cells had the zone of their first cell: 22:00 UTC became the next day for everybody."""
    schema = Schema.load(
        {
            "attributes": {
                "d": {
                    "type": "date",
                    "role": "protect",
                    "domain": {"lower": "2000-01-01", "upper": "2030-01-01"},
                }
            }
        }
    )
    late = [dt.datetime(2020, 1, 1, 22, tzinfo=dt.UTC)] * 3
    for zone in (dt.UTC, dt.timezone(dt.timedelta(hours=5)), None):
        frame = make(
            {
                "d": [dt.datetime(2020, 1, 1, 22, tzinfo=zone), *late],
            }
        )
        found = open_records(frame).read(schema, ["d"])
        days = column_of(found["d"], schema["d"], schema)
        assert days.values.tolist() == [18262.0] * 4  # type: ignore[union-attr]


_ASKED: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "codes and marks": (
        {"type": "categorical", "categories": {"labels": ["1", "2"]}, "missing_marks": ["-9", "-99"]},
        [1, 2, "1", -9, -99, "-9", "-99", {"from": -100, "below": 2}],
        ["1", "2", "-9", "-99", None],
    ),
    "own category": (
        {"type": "categorical", "categories": {"labels": ["1", "2"]}, "missing": "own category",
         "missing_marks": ["7", "8"]},
        [1, 7, 8, "7", "8", "missing"],
        ["1", "7", "8", None],
    ),
    "boolean": ({"type": "boolean"}, [1, 0, "1", "true", "yes", "no", "false"], ["true", "false", None]),
    "whole numbers": (
        {"type": "integer", "domain": {"lower": 0, "upper": 9}, "missing_marks": ["-9", "-99"]},
        [1, 2, "1", "1.0", "-9", "-99", {"from": 1, "below": 3}],
        [1, 2, 9, None],
    ),
    "dates": (
        {"type": "date", "domain": {"lower": "2020-01-01", "upper": "2020-12-31"}},
        ["2020-01-01", 18262, 18263, {"from": 18262, "below": 18263}],
        ["2020-01-01", "2020-01-02", None],
    ),
    "undeclared": ({}, [1, "1", "01", "1.0", "a", " a"], ["1", "01", "a", None]),
}  # fmt: skip


@pytest.mark.parametrize("case", _ASKED)
def test_no_record_is_in_more_groups_than_it_pays_for(case: str) -> None:
    """Parallel composition rests on what filters say; the records follow what they mean in the schema."""
    attribute, asked, cells = _ASKED[case]
    accepted = 0
    for first, second in itertools.combinations(asked, 2):
        content = {
            "release": "r",
            "schema": {"coterie_schema": 1, "attributes": {"x": {"role": "keep", **attribute}}},
            "neighbours": "add-remove",
            "budget": {"epsilon": "1"},
            "statistics": {
                "a": {"kind": "count", "where": {"x": first}},
                "b": {"kind": "count", "where": {"x": second}},
            },
        }
        try:
            specification = read_specification(content)
        except CoterieError:
            continue
        accepted += 1
        filters = [statistic.where for statistic in specification.statistics]
        paid = reachable(filters)
        assert paid is not None
        for cell in cells:
            _, kinds = read_people(specification, open_records(pa.table({"x": [cell]})))
            inside = sum(kinds.count(chosen) << i for i, chosen in enumerate(filters))
            planned = Cells.of(filters)
            assert planned is not None
            assert len(kinds.cells(planned)) == 1  # in one cell, and one that the plan knows
            assert any(inside & mask == inside for mask in paid), (first, second, cell)
    assert accepted


def test_numbers_find_the_codes_of_a_column_whose_labels_nobody_declared() -> None:
    content = {
        "release": "codes",
        "population": "people",
        "schema": {"attributes": {"code": {"role": "keep", "type": "categorical"}}},
        "neighbours": "add-remove",
        "budget": {"epsilon": 1},
        "statistics": {"n": {"kind": "count", "by": {"code": [1, 7]}}},
    }
    chosen = plan(read_specification(content))
    table = pa.table({"code": ["1", "7", "7.0", "x", "y", None]})
    found = compute(chosen.design, open_records(table))
    assert list(found.values()) == [1, 2]


def test_days_of_a_protected_column_are_cells_that_records_may_lie_in() -> None:
    """Was: a date is written as a text, so no number of the domain seemed to reach its cell, and a release broke off."""
    days = [dt.date(2020, 1, day) for day in range(1, 32)]
    attributes = {
        "day": {"role": "protect", "type": "date", "domain": {"lower": "2020-01-01", "upper": "2020-01-31"}},
        "site": {"role": "keep"},
    }
    by = {"day": [day.isoformat() for day in days], "site": ["a", "b", "c"]}
    content = {
        "release": "days",
        "population": "p",
        "schema": {"coterie_schema": 1, "attributes": attributes},
        "neighbours": "add-remove",
        "budget": {"epsilon": "1000"},
        "statistics": {"n": {"kind": "count", "by": by}},
    }
    table = pa.table({"day": days * 2, "site": ["a"] * 31 + ["b"] * 31})
    chosen = plan(read_specification(content), report_losses=False, compare=())
    assert isinstance(chosen.design.measurements[0], JointMeasurement)
    made = make_release(chosen, open_records(table), Noise.seeded(1))
    for value in made.values:
        assert value.value == (0 if value.name.endswith("c]") else 1)
