"""Spreadsheets in: typed columns, sheets by name, and a sentence for whatever is wrong."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from coterie import Schema
from coterie.cli.app import app
from coterie.errors import DataError, MissingExtra, OutputError, ParameterError
from coterie.publication.staging import stage_bytes
from coterie.table.reading import read_table
from workbooks import write_ods, write_xls, write_xlsx

pytest.importorskip("python_calamine", reason="pip install 'coterie[excel]'")


def book(folder: Path, *rows: list[Any], **options: Any) -> Path:
    return write_xlsx(folder / "people.xlsx", {"People": rows}, **options)


def column(folder: Path, *cells: Any, name: str = "x") -> pa.ChunkedArray:
    rows = [[n, cell] for n, cell in enumerate(cells)]
    return read_table(book(folder, ["n", name], *rows))[name]


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ((1, 2, None), pa.int64(), [1, 2, None]),
        ((1, 2.5), pa.float64(), [1.0, 2.5]),
        ((-3, 2**53), pa.int64(), [-3, 2**53]),
        ((1e300, 1), pa.float64(), [1e300, 1.0]),
        ((True, False, None), pa.bool_(), [True, False, None]),
        (("a", None, " b "), pa.string(), ["a", None, " b "]),
        ((None, None), pa.null(), [None, None]),
        ((dt.date(2020, 2, 29), None), pa.date32(), [dt.date(2020, 2, 29), None]),
        (
            (dt.datetime(2020, 1, 1, 12, 30), dt.datetime(2021, 1, 1)),
            pa.timestamp("us"),
            [dt.datetime(2020, 1, 1, 12, 30), dt.datetime(2021, 1, 1)],
        ),
        ((12, "NA", 1.5, True, dt.date(2020, 1, 2)), pa.string(), ["12", "NA", "1.5", "true", "2020-01-02"]),
        ((dt.time(8, 30), None), pa.string(), ["08:30:00", None]),
        (("#N/A", 2), pa.int64(), [None, 2]),
    ],
)
def test_a_column_is_what_its_cells_are(
    tmp_path: Path, cells: tuple[Any, ...], kind: pa.DataType, values: list[Any]
) -> None:
    found = column(tmp_path, *cells)
    assert found.type == kind
    assert found.to_pylist() == values


def test_many_rows_are_of_one_type(tmp_path: Path) -> None:
    """Rows are read in parts; a cell in a late part decides for the whole column."""
    rows = [[n, n, n / 2 if n == 39_999 else n, "x" if n == 39_999 else n] for n in range(40_000)]
    table = read_table(book(tmp_path, ["n", "whole", "half", "mixed"], *rows))
    assert [field.type for field in table.schema] == [pa.int64(), pa.int64(), pa.float64(), pa.string()]
    assert table["half"][39_999].as_py() == 19_999.5
    assert table["mixed"].to_pylist()[:2] == ["0", "1"]
    assert table["mixed"][39_999].as_py() == "x"


def test_labels_are_text_where_the_schema_says_so(tmp_path: Path) -> None:
    path = book(tmp_path, ["code", "day", "n"], [12, dt.date(2020, 1, 2), 1], [7.5, dt.date(2021, 1, 2), 2])
    schema = Schema.load(
        {
            "attributes": {
                "code": {"type": "categorical", "role": "keep"},
                "day": {"type": "date", "role": "keep"},
                "n": {"type": "integer", "role": "keep"},
            }
        }
    )
    assert read_table(path, schema=schema).to_pydict() == {
        "code": ["12", "7.5"],
        "day": ["2020-01-02", "2021-01-02"],
        "n": ["1", "2"],
    }, "kept columns are released as they stand"


def test_empty_rows_columns_and_margins(tmp_path: Path) -> None:
    rows = [[None] * 4, [None, "a", "b", None], [None, 1, 2, None], [None] * 4, [None, 3, None, None]]
    found = read_table(book(tmp_path, *rows)).to_pydict()
    assert found == {"a": [1, None, 3], "b": [2, None, None]}, "emptying its last cell must not drop a person"
    alone = write_xlsx(tmp_path / "one.xlsx", {"One": [["a"], [1], [None], [3]]})
    assert read_table(alone).to_pydict() == {"a": [1, None, 3]}, "an empty cell is a person"
    assert read_table(book(tmp_path, [2020, "b"], [1, 2])).column_names == ["2020", "b"]


def test_the_sheet_is_the_only_visible_one_or_the_named_one(tmp_path: Path) -> None:
    sheets = {"Notes": [["x"], [0]], "People": [["a"], [1]], "More": [["b"], [2]]}
    path = write_xlsx(tmp_path / "book.xlsx", sheets, hidden=["Notes"])
    with pytest.raises(DataError, match="has 2 sheets: People, More") as asked:
        read_table(path)
    assert "--table" in asked.value.advice
    alone = write_xlsx(tmp_path / "alone.xlsx", sheets | {"More": [], "Notes": []})
    assert read_table(alone).column_names == ["a"], "an empty sheet is no table to choose"
    assert read_table(path, table="More").column_names == ["b"]
    assert read_table(path, table="Notes").column_names == ["x"]
    with pytest.raises(DataError, match="has no sheet 'Mroe'") as caught:
        read_table(path, table="Mroe")
    assert caught.value.advice == "Did you mean 'More'?"
    with pytest.raises(ParameterError, match="source is a file"):
        read_table(path, query="SELECT 1")
    with pytest.raises(DataError, match="no visible sheet"):
        read_table(write_xlsx(tmp_path / "none.xlsx", sheets, hidden=list(sheets)))


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([[None, None]], "is empty"),
        ([["a", "a"], [1, 2]], "More than one column is named 'a'"),
        ([["a", None], [1, 2]], "Column 2 has no name"),
    ],
)
def test_a_bad_sheet_gets_a_sentence(tmp_path: Path, rows: list[list[Any]], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_table(book(tmp_path, *rows))


def test_merged_cells_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="merged cells"):
        read_table(book(tmp_path, ["a", "b"], [1, 2], [None, 3], merged="A2:A3"))


@pytest.mark.parametrize(
    "content", [b"a,b\n1,2\n", b"PK\x03\x04 cut off", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"]
)
@pytest.mark.parametrize("end", ["xlsx", "xls", "ods"])
def test_what_is_no_spreadsheet_gets_a_sentence(tmp_path: Path, content: bytes, end: str) -> None:
    path = tmp_path / f"people.{end}"
    path.write_bytes(content + b"\0" * 600)
    with pytest.raises(DataError, match="not a spreadsheet"):
        read_table(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        read_table(path)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path, ["a"], [1])
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(MissingExtra) as caught:
        read_table(path)
    assert "coterie[excel]" in caught.value.advice


def test_open_document(tmp_path: Path) -> None:
    rows = [
        ["name", "n", "ok", "day"],
        ["Ann & Bob", 1.0, True, dt.date(2020, 1, 2)],
        [None, 2.5, False, None],
    ]
    path = write_ods(tmp_path / "people.ods", {"First": rows, "Second": [["b"], [1]]})
    assert read_table(path, table="First").to_pydict() == {
        "name": ["Ann & Bob", None],
        "n": [1.0, 2.5],
        "ok": [True, False],
        "day": [dt.date(2020, 1, 2), None],
    }
    assert read_table(path, table="Second").to_pydict() == {"b": [1]}


def test_excel_97(tmp_path: Path) -> None:
    rows = [["name", "n", "ok"], ["Zoë", 1, True], [None, 2.5, False]]
    path = write_xls(tmp_path / "people.xls", {"First": rows, "Second": [["b"], [1], [2]]})
    assert read_table(path, table="First").to_pydict() == {
        "name": ["Zoë", None],
        "n": [1.0, 2.5],
        "ok": [True, False],
    }
    assert read_table(path, table="Second").to_pydict() == {"b": [1, 2]}


def test_the_workbook_itself_is_never_overwritten(tmp_path: Path) -> None:
    path = book(tmp_path, ["a"], [1])
    with pytest.raises(OutputError, match="overwrite an input"):
        stage_bytes(b"", path, force=True, inputs=[(str(path), "People")])


def test_from_a_workbook_to_a_release(tmp_path: Path) -> None:
    people = [["name", "age"], *([f"person {n}", 20 + n % 50] for n in range(60))]
    path = write_xlsx(tmp_path / "people.xlsx", {"Notes": [["hello"]], "People": people})
    schema, out = tmp_path / "schema.yaml", tmp_path / "out.csv"
    run = CliRunner()
    drafted = run.invoke(
        app, ["schema", "draft", str(path), "--table", "People", "-o", str(schema), "--json"]
    )
    assert json.loads(drafted.stdout)["to_fill"] == ["age"]
    schema.write_text(
        "attributes:\n  name: {role: identifier}\n  age: {type: integer, role: protect, domain: {lower: 0, upper: 120}}\n"
    )
    line = [
        "protect",
        str(path),
        "--table",
        "People",
        "-s",
        str(schema),
        "-m",
        "idp-ls",
        "-e",
        "1",
        "-k",
        "5",
    ]
    done = run.invoke(app, [*line, "-o", str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert read_table(out).num_rows == 60
