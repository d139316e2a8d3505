"""The door in: replacing one cell by anything changes how that cell is read, and no other, or the table is refused.

A neighbour of a table differs from it in one record. If one cell can change how others are read, two neighbours differ in
all of them, and no noise was calibrated for that.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat
import pytest

from coterie import Schema, protect
from coterie.engines.out_of_core.columns import StreamedTable
from coterie.errors import CoterieError, DataError
from coterie.schema.attributes import Categories, Missing
from coterie.table.checked import column_of
from coterie.table.columns.column import CategoryColumn, NumericColumn
from coterie.table.frames import to_arrow
from coterie.table.reading import read_table
from workbooks import write_xlsx

Table = dict[str, list[Any]]
Read = dict[str, np.ndarray]


class NotStorable(Exception):
    """The tool that writes the test's file cannot hold such a cell: nobody can hand it to us that way."""


SCHEMA = Schema.load(
    {
        "attributes": {
            "n": {"type": "integer", "role": "protect", "domain": {"lower": -9, "upper": 9999}},
            "x": {"type": "continuous", "role": "protect", "domain": {"lower": -9, "upper": 9999}},
            "d": {
                "type": "date",
                "role": "protect",
                "domain": {"lower": "1900-01-01", "upper": "2100-01-01"},
            },
            "m": {
                "type": "timestamp",
                "role": "protect",
                "domain": {"lower": "1900-01-01", "upper": "2100-01-01"},
            },
            "c": {"type": "categorical", "role": "protect", "categories": {"labels": ["1", "2", "3", "red"]}},
            "o": {"type": "ordinal", "role": "protect", "categories": {"labels": ["low", "mid", "high"]}},
            "b": {"type": "boolean", "role": "protect"},
        }
    }
)
CLEAN: Table = {
    "n": [1, 2, 3, 4, 5, 6],
    "x": [0.1, 0.7, 1.1, 123.456, 2.0, 3.0],
    "d": [dt.date(2020, 1, day) for day in range(1, 7)],
    "m": [dt.datetime(2020, 1, 1, 12, 0, second) for second in range(6)],
    "c": [1, 2, 1, 2, 3, 3],
    "o": ["low", "mid", "high", "low", "mid", "high"],
    "b": [True, False, True, False, True, True],
}
GAPS: Table = {name: [None, *values[1:]] for name, values in CLEAN.items()}
REPLACEMENTS: list[Any] = [
    None, "", " ", "1", "1.0", " 2 ", "01", "+1", "-0", "1e3", "0x1F", "1_000", "1,5", "NaN", "inf", "true", "red", '"',
    '""', 'a "b" c', "a,b", ";", "\t", "\n", "a\rb", "\r\n", "a\0b", "\ud800", "x" * 70_000, "\ufeff", "2020-01-31",
    "2020-01-31T12:00:00Z", "31.01.2020", str(10**400), 10**400, 2**60 + 1, 2**53 + 1, -1, 1, 1.0, 1.5, -0.0, 1e300,
    float("nan"), float("inf"), True, False, Decimal("1.00"), Decimal("0.10000000000000000001"), Decimal("NaN"),
    Decimal("1E+500"), np.float64(1.5), np.int64(7), np.bool_(True), dt.date(2021, 1, 1), dt.datetime(2021, 1, 1),
    dt.datetime(2021, 1, 1, 3, tzinfo=dt.UTC), dt.time(8), b"bytes", [1], 1j,
]  # fmt: skip


def text(value: Any) -> str:
    """A cell as a program would write it into a text file."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    try:
        return value if isinstance(value, str) else str(value)
    except ValueError:  # more digits than Python writes
        raise NotStorable from None


def as_csv(table: Table, **dialect: Any) -> bytes:
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, **dialect)
    writer.writerow(table)
    try:
        writer.writerows([text(cell) for cell in row] for row in zip(*table.values(), strict=True))
        return sink.getvalue().encode()
    except (csv.Error, UnicodeEncodeError):
        raise NotStorable from None


def from_file(name: str, folder: Path, content: bytes) -> Read:
    (folder / name).write_bytes(content)
    return values(read_table(folder / name, schema=SCHEMA))


def values(table: pa.Table) -> Read:
    found = {}
    for attribute in SCHEMA.attributes:
        column = column_of(table.column(attribute.name), attribute, SCHEMA)
        found[attribute.name] = column.values if isinstance(column, NumericColumn) else column.codes
    return found


def from_frame(make: Callable[[Table], Any]) -> Callable[[Table, Path], Read]:
    def read(table: Table, _: Path) -> Read:
        return values(to_arrow(storable(make, table), SCHEMA)[0])

    return read


def storable(make: Callable[..., Any], *given: Any) -> Any:
    try:
        return make(*given)
    except CoterieError:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # polars' own panics are not Exceptions
        raise NotStorable from None


def arrow(table: Table) -> pa.Table:
    return pa.table({name: pa.array(cells) for name, cells in table.items()})


def decimals(table: Table) -> pa.Table:
    """As a database would: the scale of all is that of the most precise."""
    exact = {**table, "x": [Decimal(str(cell)) if isinstance(cell, float) else cell for cell in table["x"]]}
    return arrow({**exact, "c": [Decimal(cell) if isinstance(cell, int) else cell for cell in table["c"]]})


def dictionaries(table: Table) -> pa.Table:
    return pa.table({name: pa.array(cells).dictionary_encode() for name, cells in table.items()})


def parquet(table: Table, folder: Path) -> Read:
    storable(pq.write_table, storable(arrow, table), folder / "t.parquet")
    return values(read_table(folder / "t.parquet", schema=SCHEMA))


def out_of_core(table: Table, folder: Path) -> Read:
    storable(pq.write_table, storable(arrow, table), folder / "t.parquet")
    streamed = StreamedTable(folder / "t.parquet", SCHEMA)
    found = {}
    for attribute in SCHEMA.attributes:
        column = storable(next, streamed.batches([attribute.name]))[1].column(0)
        read = column_of(column, attribute, SCHEMA)
        found[attribute.name] = read.values if isinstance(read, NumericColumn) else read.codes
    return found


def arrow_file(table: Table, folder: Path) -> Read:
    storable(feather.write_feather, storable(arrow, table), str(folder / "t.arrow"))
    return values(read_table(folder / "t.arrow", schema=SCHEMA))


def sheet(table: Table, folder: Path) -> Read:
    rows = [list(table), *map(list, zip(*table.values(), strict=True))]
    for cell in (cell for row in rows for cell in row):
        if not isinstance(cell, str | int | float | dt.date | None) or isinstance(cell, np.generic):
            raise NotStorable
        if (isinstance(cell, str) and not cell.isprintable()) or (isinstance(cell, float) and cell != cell):
            raise NotStorable
    storable(write_xlsx, folder / "t.xlsx", {"People": rows})
    return values(read_table(folder / "t.xlsx", schema=SCHEMA))


def statistical(end: str, write: Callable[..., None]) -> Callable[[Table, Path], Read]:
    """As pandas hands it over: what is of several kinds becomes text."""

    def read(table: Table, folder: Path) -> Read:
        path = folder / f"t.{end}"
        storable(write, storable(pd.DataFrame, table), str(path))
        return values(read_table(path, schema=SCHEMA))

    return read


def sqlite(table: Table, folder: Path) -> Read:
    path = folder / "t.db"
    path.unlink(missing_ok=True)
    kinds = {"n": "INTEGER", "x": "REAL", "c": "NUMERIC", "o": "TEXT"}

    def write() -> None:
        with closing(sqlite3.connect(path)) as connection:
            columns = ", ".join(f"{name} {kinds.get(name, '')}" for name in table)
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"CREATE TABLE t ({columns})")
            rows = [
                [cell.isoformat(" ") if isinstance(cell, dt.datetime) else str(cell) if isinstance(cell, dt.date) else cell
                 for cell in row]
                for row in zip(*table.values(), strict=True)
            ]  # fmt: skip
            connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(table))})", rows)
            connection.commit()

    storable(write)
    return values(read_table(f"sqlite:///{path}", table="t", schema=SCHEMA))


def text_file(name: str, **dialect: Any) -> Callable[[Table, Path], Read]:
    def read(table: Table, folder: Path) -> Read:
        content = as_csv(table, **dialect)
        return from_file(name, folder, gzip.compress(content, 1) if name.endswith(".gz") else content)

    return read


READERS: dict[str, Callable[[Table, Path], Read]] = {
    "csv": text_file("t.csv"),
    "csv.gz": text_file("t.csv.gz"),
    "csv, quoted": text_file("t.csv", quoting=csv.QUOTE_ALL),
    "csv, semicolons": text_file("t.csv", delimiter=";"),
    "tsv": text_file("t.tsv", delimiter="\t"),
    "parquet": parquet,
    "arrow": arrow_file,
    "out of core": out_of_core,
    "xlsx": sheet,
    "sav": statistical("sav", pyreadstat.write_sav),
    "dta": statistical("dta", pyreadstat.write_dta),
    "sqlite": sqlite,
    "dict": from_frame(dict),
    "pandas": from_frame(pd.DataFrame),
    "pandas, objects": from_frame(lambda table: pd.DataFrame(table, dtype=object)),
    "pandas, nullable": from_frame(lambda table: pd.DataFrame(table).convert_dtypes()),
    "pandas, categories": from_frame(lambda table: pd.DataFrame(table).astype("category")),
    "pandas, Arrow": from_frame(lambda table: pd.DataFrame(table).convert_dtypes(dtype_backend="pyarrow")),
    "polars": from_frame(pl.DataFrame),
    "polars, not strict": from_frame(lambda table: pl.DataFrame(table, strict=False)),
    "polars, objects": from_frame(
        lambda table: pl.DataFrame({n: pl.Series(n, v, dtype=pl.Object) for n, v in table.items()})
    ),
    "pyarrow": from_frame(arrow),
    "pyarrow, decimals": from_frame(decimals),
    "pyarrow, dictionaries": from_frame(dictionaries),
}
ROW = 3
# The neighbour differs from a table whose columns have gaps already: stored as floats, or as objects.
STORED_WITH_GAPS = ("pandas", "polars, not strict", "pyarrow", "parquet", "csv.gz", "xlsx", "sav")


def neighbours(table: Table, share: int) -> Iterator[tuple[str, Any, Table]]:
    """Every column with every `share`-th replacement, each of them in one column at least."""
    for start, name in enumerate(table):
        for value in REPLACEMENTS[start % share :: share]:
            cells = list(table[name])
            cells[ROW] = value
            yield name, value, {**table, name: cells}


def assert_others_unchanged(before: Read, after: Read, replaced: str, value: Any, row: int = ROW) -> None:
    for name, expected in before.items():
        found = after[name].astype(float)
        assert len(found) == len(expected), f"{name}: {len(found)} rows after {replaced} became {value!r:.40}"
        others = np.arange(len(expected)) != (row if name == replaced else -1)
        np.testing.assert_array_equal(
            found[others], expected.astype(float)[others], f"{name}, where {replaced} became {value!r:.40}"
        )


# All replacements in all columns take minutes: they are for `make test-slow`.
SHARES = [5, pytest.param(1, marks=pytest.mark.slow)]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("reader", READERS)
def test_one_cell_changes_no_other(reader: str, share: int, tmp_path: Path) -> None:
    read, base = READERS[reader], GAPS if reader in STORED_WITH_GAPS else CLEAN
    before = read(base, tmp_path)
    tried = refused = 0
    shown: list[str] = []  # messages that hold the cell
    for name, value, table in neighbours(base, share):
        try:
            after = read(table, tmp_path)
        except NotStorable:
            continue
        except CoterieError as error:
            refused += 1
            if isinstance(value, str) and len(value) > 4 and value in str(error):
                shown.append(str(error))
        else:
            assert_others_unchanged(before, after, name, value)
        tried += 1
    assert not shown
    assert tried > 60 / share, "the reader was hardly tried"
    assert tried - refused > 20 / share, "a reader that refuses everything is none"


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_reads_the_same(reader: str, tmp_path: Path) -> None:
    expected = READERS["dict"](GAPS, tmp_path)
    found = READERS[reader](GAPS, tmp_path)
    for name in SCHEMA.attributes:
        np.testing.assert_array_equal(found[name.name].astype(float), expected[name.name].astype(float))


@pytest.mark.database
def test_one_cell_of_postgresql(postgres_url: str) -> None:
    import adbc_driver_postgresql.dbapi as postgresql

    types = {
        "n": "numeric(12, 2)",
        "x": "numeric",
        "c": "numeric(6, 2)",
        "d": "date",
        "m": "timestamp",
        "b": "boolean",
    }

    def read(table: Table) -> Read:
        rows = zip(*table.values(), strict=True)
        cells = ", ".join(f"({', '.join(map(quoted, row))})" for row in rows)
        columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in table)
        with postgresql.connect(postgres_url) as connection, connection.cursor() as cursor:
            storable(cursor.execute, "DROP TABLE IF EXISTS one_cell")
            storable(cursor.execute, f"CREATE TABLE one_cell ({columns})")
            storable(cursor.execute, f"INSERT INTO one_cell VALUES {cells}")
            connection.commit()
        return values(read_table(postgres_url, table="one_cell", schema=SCHEMA))

    def quoted(cell: Any) -> str:
        return "NULL" if cell is None else "'" + text(cell).replace("'", "''") + "'"

    before, tried = read(CLEAN), 0
    for name in CLEAN:
        for value in [
            None,
            "NaN",
            "Infinity",
            "1e300",
            1,
            "1.00",
            1.5,
            "2.0",
            "9999999999.99",
            "red",
            "low",
            True,
            10**400,
        ]:
            cells = list(CLEAN[name])
            cells[ROW] = value
            try:
                assert_others_unchanged(before, read({**CLEAN, name: cells}), name, value)
            except NotStorable:
                continue
            except CoterieError:
                pass
            tried += 1
    assert tried > 30


RAW = [
    '"', '""', '"x', 'x"', 'a "b" c', '"a" b', '"a"b"', '"a""', '"",""', 'x","y', '"x","y"', ",", ",,", "\n", "\r", "\r\n",
    "a\nb", "a\rb", "\0", "\xff", "\xe9", "1.0", "NaN", "1e400", "+1", "", " ", "'", "\\", '\\"', ";", "\t", "#", "1" * 400,
]  # fmt: skip


@pytest.mark.parametrize("around", ["", '"'], ids=["bare", "quoted"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_raw_bytes_in_one_cell(around: str, ends: str, tmp_path: Path) -> None:
    """Whatever stands between two delimiters, quoted or not."""
    rows = [list(CLEAN), *zip(*CLEAN.values(), strict=True)]

    def content(replaced: str | None = None, raw: str = "") -> bytes:
        lines = []
        for place, row in enumerate(rows):
            cells = [around + text(cell) + around for cell in row]
            if replaced is not None and place == ROW + 1:
                cells[list(CLEAN).index(replaced)] = around + raw + around
            lines.append(",".join(cells))
        return (ends.join(lines) + ends).encode("latin-1")

    before = from_file("t.csv", tmp_path, content())
    read = 0
    for name in CLEAN:
        for raw in RAW:
            try:
                after = from_file("t.csv", tmp_path, content(name, raw))
            except CoterieError:
                continue
            assert_others_unchanged(before, after, name, raw)
            read += 1
    assert read > 20


def test_a_stray_quote_does_not_swallow_the_next_record(tmp_path: Path) -> None:
    """n[no] went from 4,001 to 0."""
    schema = Schema.load(
        {
            "attributes": {
                "name": {"role": "identifier"},
                "smokes": {"type": "categorical", "role": "protect", "categories": ["yes", "no"]},
                "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 9}},
            }
        }
    )
    lines = [f'"P{n}","{"no" if n < 4000 else "yes"}",{n % 10}' for n in range(5000)]
    path = tmp_path / "t.csv"
    for bob, reads in (
        ('"Bob"', True),
        ('"Bob ""B"" Smith"', True),
        ('"Bob\nSmith"', True),
        ('"Bob "B" Smith"', False),
        ('"Bob "', True),
        ('"Bob" "', False),
        ('Bob "B"', False),
        ('"Bob', False),
    ):
        path.write_text("\n".join(["name,smokes,age", f'{bob},"no",3', *lines]) + "\n")
        if not reads:
            with pytest.raises(DataError, match="quote"):
                read_table(path, schema=schema)
            continue
        table = read_table(path, schema=schema)
        column = column_of(table["smokes"], schema["smokes"], schema)
        assert isinstance(column, CategoryColumn)
        assert (column.codes == column.taxonomy.categories.index("no")).sum() == 4001


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_codes_are_counted_whatever_stands_beside_them(make: Callable[[Table], Any]) -> None:
    """`[1]*10 + [None]` is stored as floats by pandas, and counted 0 ones."""
    labels = {
        "type": "categorical",
        "role": "protect",
        "categories": {"labels": ["1", "2"]},
        "missing": "impute",
    }
    schema = Schema.load({"attributes": {"c": labels}})
    for last in (2, None, float("nan"), 2.0, "2"):
        try:
            frame = make({"c": [1] * 10 + [last]})
        except Exception:
            continue
        column = column_of(to_arrow(frame, schema)[0]["c"], schema["c"], schema)
        assert (column.codes == 0).sum() == 10  # type: ignore[union-attr]
    with pytest.raises(DataError, match="not among its labels"):
        protect({"c": [1] * 10 + [3]}, schema, method="dp-ir", epsilon=1, k=2)


MARKED = Schema(
    attributes=tuple(
        attribute.model_copy(
            update={
                "missing": Missing.IMPUTE,
                "missing_marks": (mark, "unknown"),
                "categories": attribute.categories
                and Categories(labels=tuple(x for x in attribute.categories.labels or () if x != mark)),
            }
        )
        for attribute, mark in zip(
            SCHEMA.attributes,
            ["2", "0.7", "2020-01-02", "2020-01-01 12:00:01", "2", "mid", "n/a"],  # no truth value is a mark
            strict=True,
        )
    )
)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(
    "reader", ["csv", "xlsx", "sqlite", "dict", "pandas", "pandas, objects", "polars, not strict", "pyarrow"]
)
def test_a_mark_is_missing_however_its_column_is_stored(
    reader: str, share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A date among dates was a value, and among texts a mark: one cell written as text took others away."""
    monkeypatch.setattr(sys.modules[__name__], "SCHEMA", MARKED)
    before = READERS[reader](CLEAN, tmp_path)
    for name, found in before.items():
        assert np.isnan(found[1]) if found.dtype == float else found[1] == (0 if name == "b" else -1), name
    for name, value, table in neighbours(CLEAN, share):
        try:
            after = READERS[reader](table, tmp_path)
        except (NotStorable, CoterieError):
            continue
        assert_others_unchanged(before, after, name, value)


@pytest.mark.parametrize("name", ["n", "c"])
def test_a_type_is_named_without_its_fields(name: str) -> None:
    """polars makes a struct of a column in which one cell is a dict: its fields are that cell's keys."""
    column = pa.chunked_array([[{"Jane Doe": 1}, None]])
    with pytest.raises(DataError, match=f"Column '{name}' holds struct, ") as caught:
        column_of(column, SCHEMA[name], SCHEMA)
    assert "Jane" not in str(caught.value)


@pytest.mark.parametrize("last", [pd.Timestamp("2020-01-01"), "2020-01-01"], ids=["typed", "objects"])
def test_nanoseconds_are_cut_off_alike_before_1970(last: Any) -> None:
    frame = pd.DataFrame({"m": [pd.Timestamp("1960-01-01 00:00:00.000000001"), last]})
    schema = Schema(attributes=(SCHEMA["m"],))
    assert column_of(to_arrow(frame, schema)[0]["m"], schema["m"], schema).values[0] == -315_619_200.0  # type: ignore[union-attr]
