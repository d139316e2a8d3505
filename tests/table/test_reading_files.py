"""Files in: every format, every fault, and no value of the data in a message."""

from __future__ import annotations

import gzip
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from coterie.errors import CoterieError, DataError, ParameterError
from coterie.schema.dialect import Dialect
from coterie.table import csv_reading
from coterie.table.reading import read_table

CANARY = "canary-4711"
TABLE = pa.table({"income": [1, 2, None], "share": [0.5, None, 2.5], "name": ["Ada", "Bo, Jr", None]})


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path: Path, **options: str) -> CoterieError:
    with pytest.raises(CoterieError) as caught:
        read_table(path, **options)  # type: ignore[arg-type]
    assert CANARY not in str(caught.value)
    assert caught.value.advice
    # Nor may a traceback print it through the cause.
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def test_csv_with_nulls_and_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'income,share,name\n1,0.5,Ada\n2,,"Bo, Jr"\n,2.5,\n')
    assert read_table(path).equals(TABLE)
    assert read_table(str(path)).equals(TABLE)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_delimiters_marks_and_line_ends(tmp_path: Path, delimiter: str, mark: bytes, end: str) -> None:
    text = end.join([delimiter.join(row) for row in (["Straße", "b"], ["1", "x"], ["2", "y"])])
    table = read_table(write(tmp_path / "t.csv", mark + text.encode()))
    assert table.to_pydict() == {"Straße": [1, 2], "b": ["x", "y"]}


def test_the_delimiter_is_counted_outside_quotes(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "t.csv", '"a,x,y";b\n1;2\n'))
    assert table.column_names == ["a,x,y", "b"]


def test_compressed_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv.gz", gzip.compress(b"a,b\n1,2\n"))
    assert read_table(path).to_pydict() == {"a": [1], "b": [2]}


def test_only_the_empty_cell_is_null(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "t.csv", 'a,b\nNA,""\n?,1\n'))
    assert table.to_pydict() == {"a": ["NA", "?"], "b": [None, 1]}


def test_an_empty_line_is_a_row_where_there_is_one_column(tmp_path: Path) -> None:
    assert read_table(write(tmp_path / "t.csv", "a\n1\n\n3\n")).to_pydict() == {"a": [1, None, 3]}
    assert read_table(write(tmp_path / "u.csv", "a,b\n1,2\n\n3,4\n")).num_rows == 2


def test_line_breaks_in_quotes_across_blocks(tmp_path: Path) -> None:
    rows = 40_000  # more than one of Arrow's blocks of a megabyte
    body = "".join(f'{row},"line one\nline, two {row}"\n' for row in range(rows))
    table = read_table(write(tmp_path / "t.csv", "a,b\n" + body))
    assert table.num_rows == rows
    assert table["b"][rows - 1].as_py() == f"line one\nline, two {rows - 1}"


def test_parquet(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"  # must not become a column
    folder.mkdir()
    pq.write_table(TABLE, folder / "t.parquet")
    assert read_table(folder / "t.parquet").equals(TABLE)


@pytest.mark.parametrize("name", ["t.arrow", "t.feather", "T.ARROW"])
def test_arrow_file_and_stream(tmp_path: Path, name: str) -> None:
    for new in (ipc.new_file, ipc.new_stream):
        with new(str(tmp_path / name), TABLE.schema) as writer:
            writer.write_table(TABLE)
        assert read_table(tmp_path / name).equals(TABLE)


def test_feather_with_compression(tmp_path: Path) -> None:
    feather.write_feather(TABLE, str(tmp_path / "t.feather"), compression="zstd")
    assert read_table(tmp_path / "t.feather").equals(TABLE)


def test_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path / "census.csv", "a\n1\n")
    assert "Did you mean 'census.csv'?" in refusal(tmp_path / "cencus.csv").advice
    assert "no folder" in refusal(tmp_path / "nowhere" / "census.csv").advice


def test_unknown_ending_suggests_one(tmp_path: Path) -> None:
    assert "Did you mean '.parquet'?" in refusal(write(tmp_path / "t.parqet", b"x")).advice
    for other in ("t.txt", "t.tab", "t.sax"):
        advice = refusal(write(tmp_path / other, b"x")).advice
        assert advice.startswith("Coterie knows"), "a wrong guess is worse than none"
        assert ".csv.gz" in advice
    assert "no ending" in refusal(write(tmp_path / "t", b"x")).problem


def test_folder_and_unreadable(tmp_path: Path) -> None:
    assert "folder" in refusal(tmp_path).problem
    if os.geteuid() != 0:
        path = write(tmp_path / "t.csv", "a\n1\n")
        path.chmod(0)
        assert "Permission" in refusal(path).problem


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    assert "empty" in refusal(write(tmp_path / name, b"")).problem


@pytest.mark.parametrize("content", [b"\n\n", b"\xef\xbb\xbf", b"  \n"])
def test_csv_with_nothing_in_it(tmp_path: Path, content: bytes) -> None:
    assert "empty" in refusal(write(tmp_path / "t.csv", content)).problem
    assert "empty" in refusal(write(tmp_path / "t.csv.gz", gzip.compress(content))).problem


def test_header_without_rows_is_a_table_without_rows(tmp_path: Path) -> None:
    for text in ("a,b\n", "a,b"):
        assert read_table(write(tmp_path / "t.csv", text)).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "line", "cells"),
    [
        (f"a,b\n1,2\n{CANARY}\n", 3, 1),
        (f"a,b\n1,2\n\n3,4\n{CANARY},5,6\n", 5, 3),
        (f'a,b\n1,"x\ny"\n2,{CANARY},3\n', 4, 3),
        (f'a,b\n1,2\n"{CANARY}\n\n",2,3\n', 3, 3),
    ],
)
def test_ragged_row_is_named_by_its_line(tmp_path: Path, text: str, line: int, cells: int) -> None:
    for path in (
        write(tmp_path / "t.csv", text),
        write(tmp_path / "t.csv.gz", gzip.compress(text.encode())),
    ):
        error = refusal(path)
        assert isinstance(error, DataError)
        assert "more or fewer cells than the header" in error.problem
        assert error.detail == f"Line {line} has {cells} instead of 2."


def test_duplicate_names_are_named(tmp_path: Path) -> None:
    assert "'a'" in refusal(write(tmp_path / "t.csv", f"a,b,a\n1,2,{CANARY}\n")).problem
    twice = pa.table([pa.array([CANARY]), pa.array([1])], names=["b", "b"])
    pq.write_table(twice, tmp_path / "t.parquet")
    assert "'b'" in refusal(tmp_path / "t.parquet").problem
    with ipc.new_file(str(tmp_path / "t.arrow"), twice.schema) as writer:
        writer.write_table(twice)
    assert "'b'" in refusal(tmp_path / "t.arrow").problem


def test_column_without_a_name(tmp_path: Path) -> None:
    assert "Column 1 has no name" in refusal(write(tmp_path / "t.csv", f",a\n1,{CANARY}\n")).problem


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    text = f"a,b\n1,{CANARY}é\n"
    error = refusal(write(tmp_path / "t.csv", text.encode("latin-1")))
    assert "'b'" in error.problem
    assert "UTF-8" in error.advice
    assert "header" in refusal(write(tmp_path / "h.csv", "é,b\n1,2\n".encode("latin-1"))).problem
    assert "UTF-16" in refusal(write(tmp_path / "u.csv", text.encode("utf-16"))).problem


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "t.feather"])
@pytest.mark.parametrize(
    "content",
    [b"PK\x03\x04\0\0" + CANARY.encode(), b"PAR1" + CANARY.encode() + b"\0", b"ARROW1\0\0" + b"x" * 50],
)
def test_a_file_that_is_something_else(tmp_path: Path, name: str, content: bytes) -> None:
    assert isinstance(refusal(write(tmp_path / name, content)), DataError)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_a_cut_off_file(tmp_path: Path, name: str) -> None:
    whole = tmp_path / name
    if name == "t.parquet":
        pq.write_table(TABLE, whole)
    else:
        with ipc.new_file(str(whole), TABLE.schema) as writer:
            writer.write_table(TABLE)
    content = whole.read_bytes()
    for length in (8, len(content) // 2, len(content) - 3):
        assert isinstance(refusal(write(tmp_path / name, content[:length])), DataError)


def test_a_cut_off_gzip(tmp_path: Path) -> None:
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 5000)
    assert "gzip" in refusal(write(tmp_path / "t.csv.gz", content[:-10])).problem


def test_feather_one(tmp_path: Path) -> None:
    assert "version 1" in refusal(write(tmp_path / "t.feather", b"FEA1" + b"x" * 20)).problem


def test_table_and_query_are_for_databases(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a\n1\n")
    assert isinstance(refusal(path, table="a"), ParameterError)
    assert isinstance(refusal(path, query="SELECT 1"), ParameterError)


def test_the_real_data(tmp_path: Path) -> None:
    root = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (root / "casc_census.csv").exists():
        pytest.skip(f"the data sets are not at {root}")
    census = read_table(root / "casc_census.csv")
    assert census.shape == (1080, 13)
    assert set(census.schema.types) == {pa.int64()}
    assert read_table(root / "adult_train.csv.gz").shape == (32561, 15)


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_arrow_holds_nothing_that_python_must_free(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its threads let go of a file a moment after it is read. A command that ends in that moment (it refuses a table of
    one row, say) was aborted once in fifteen times on a busy machine: the thread asked an interpreter that was gone."""
    text = b"age,income\n" + b"30,1000\n" * 100
    path = write(tmp_path / name, gzip.compress(text) if name.endswith(".gz") else text)

    def held(source: object, content: Any) -> bool:
        """Python's bytes are counted; a mapped file cannot be closed while somebody points into it."""
        if isinstance(content, bytes):
            return sys.getrefcount(content) > unheld
        with suppress(BufferError):
            content.close()
        return not content.closed

    content = csv_reading._content(path, Dialect())
    unheld = sys.getrefcount(content) + 1  # in `held`, one more
    assert held(pa.BufferReader(pa.py_buffer(content)), content)
    source = csv_reading._for_arrow(path, content)
    assert not held(source, content)
    assert source.read() == text

    given = []
    monkeypatch.setattr(csv_reading, "_for_arrow", lambda *_: given.append(pa.BufferReader(text)) or given[0])
    assert read_table(path).num_rows == 100
    assert given, "read_csv reads what `_for_arrow` gives"
