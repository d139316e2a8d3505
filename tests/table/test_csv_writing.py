"""CSV out: what is written reads back as the same table, with no more quotes than needed."""

from __future__ import annotations

import csv
import io
import math
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.table.formats import write_csv
from coterie.table.reading import read_table


def written(table: pa.Table) -> str:
    sink = io.BytesIO()
    write_csv(table, sink)
    return sink.getvalue().decode()


def test_text_of_each_type() -> None:
    table = pa.table(
        {
            "n": [1.0, 0.1, 1e16, None],
            "i": [1, -2, 3, None],
            "b": [True, False, None, None],
            "d": [date(2020, 1, 2), None, None, None],
            "m": [Decimal("1.50"), None, None, None],
            "c": pa.array(["x", "y", "x", None]).dictionary_encode(),
        }
    )
    assert written(table) == (
        "n,i,b,d,m,c\n1,1,true,2020-01-02,1.50,x\n0.1,-2,false,,,y\n1e+16,3,,,,x\n,,,,,\n"
    )


def test_quotes_only_where_needed() -> None:
    table = pa.table(
        {"a,b": ["plain", "with, comma", 'with "quote"', "two\nlines", " led", "semi;colon"], "ü": [1] * 6}
    )
    assert written(table) == (
        '"a,b",ü\nplain,1\n"with, comma",1\n"with ""quote""",1\n"two\nlines",1\n" led",1\nsemi;colon,1\n'
    )


def test_a_table_without_rows_has_its_header() -> None:
    assert written(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})) == "a,b\n"


def test_many_chunks(tmp_path: Path) -> None:
    chunks = pa.chunked_array([list(range(start, start + 70_000)) for start in (0, 70_000)])
    table = pa.table({"i": chunks, "x": chunks.cast(pa.float64())})
    (tmp_path / "t.csv").write_text(written(table))
    assert read_table(tmp_path / "t.csv")["i"].to_pylist() == list(range(140_000))


def digits(number: str) -> str:
    return re.sub(r"[^0-9]", "", number.partition("e")[0]).strip("0")


@given(st.lists(st.floats(allow_nan=False) | st.none(), min_size=1))
def test_numbers_read_back_bit_by_bit(values: list[float | None]) -> None:
    rows = list(
        csv.reader(
            io.StringIO(written(pa.table({"x": pa.array(values, pa.float64()), "i": [0] * len(values)})))
        )
    )
    for value, (text, _) in zip(values, rows[1:], strict=True):
        if value is None:
            assert text == ""
        else:
            assert float(text) == value
            assert math.copysign(1, float(text)) == math.copysign(1, value)
            assert digits(text) == digits(repr(value))  # Python's repr is the shortest


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.tuples(text, st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_any_text_survives(tmp_path: Path, rows: list[tuple[str, Any]]) -> None:
    texts, numbers = zip(*[("x" + cell + "x", number) for cell, number in rows], strict=True)
    table = pa.table({"s": list(texts), "i": pa.array(numbers, pa.int64())})
    (tmp_path / "t.csv").write_bytes(written(table).encode())
    assert read_table(tmp_path / "t.csv").equals(table)
