"""The door out: whatever one record holds, every method and every kind of frame and file releases the same schema."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from coterie import Schema, protect
from coterie.engines.out_of_core.release import protect_file
from coterie.errors import ParameterError
from coterie.methods import all_methods
from coterie.publication.staging import stage
from coterie.schema.attributes import Attribute
from coterie.table.columns.column import released_field
from coterie.table.database import prepared
from coterie.table.frames import to_arrow
from coterie.table.reading import read_table

Columns = dict[str, list[Any]]
DATABASES = ("postgresql", "sqlite")
ROWS = 12
METHODS = [pytest.param(method, id=method.name) for method in all_methods().values()]


def ranged(kind: str, lower: Any, upper: Any, **more: Any) -> dict[str, Any]:
    domain = {"lower": lower, "upper": upper}
    return {
        "type": kind,
        "role": "protect",
        "domain": domain,
        "missing": "impute",
        "outside": "clip",
        **more,
    }


def labelled(kind: str, labels: list[Any], missing: str) -> dict[str, Any]:
    return {"type": kind, "role": "protect", "categories": {"labels": labels}, "missing": missing}


SCHEMA = Schema.load(
    {
        "attributes": {
            "id": {"role": "identifier"},
            "share": ranged("continuous", 0, 10),
            "price": ranged("continuous", 0, 10, decimals=2),
            "age": ranged("integer", 0, 99),
            "born": ranged("date", "2000-01-01", "2030-12-31"),
            "seen": ranged("timestamp", "2000-01-01T00:00:00", "2030-12-31T00:00:00"),
            "size": labelled("ordinal", ["s", "m", "l"], "impute"),
            "note": {"role": "keep"},
            "grade": labelled("ordinal", [1, 2, 3], "impute"),
            "colour": labelled("categorical", ["red", "green", "blue"], "own category"),
            "zone": labelled("categorical", [1, 2, 3], "own category"),
            "code": labelled("categorical", ["01", "02"], "impute"),
            "ward": labelled("categorical", ["-1", "7"], "impute"),
            "member": {"type": "boolean", "role": "protect", "missing": "own category"},
            "smoker": {"type": "boolean", "role": "protect", "missing": "impute"},
        }
    }
)

# Written out, not computed: name, Arrow type, whether it may hold nulls.
ARROW = pa.schema(
    [
        pa.field("share", pa.float64(), nullable=False),
        pa.field("price", pa.float64(), nullable=False),
        pa.field("age", pa.int64(), nullable=False),
        pa.field("born", pa.date32(), nullable=False),
        pa.field("seen", pa.timestamp("us"), nullable=False),
        pa.field("size", pa.string(), nullable=False),
        pa.field("note", pa.string(), nullable=True),
        pa.field("grade", pa.int64(), nullable=False),
        pa.field("colour", pa.string(), nullable=True),
        pa.field("zone", pa.int64(), nullable=True),
        pa.field("code", pa.string(), nullable=False),
        pa.field("ward", pa.int64(), nullable=False),
        pa.field("member", pa.bool_(), nullable=True),
        pa.field("smoker", pa.bool_(), nullable=False),
    ]
)
TEXT = pd.DataFrame({"x": ["a"]})["x"].dtype
PANDAS = {
    "share": "float64",
    "price": "float64",
    "age": "int64",
    "born": "datetime64[us]",
    "seen": "datetime64[us]",
    "size": TEXT,
    "note": None,  # kept: as it came
    "grade": "int64",
    "colour": TEXT,
    "zone": "Int64",
    "code": TEXT,
    "ward": "int64",
    "member": "boolean",
    "smoker": "bool",
}
POLARS = {
    "share": pl.Float64,
    "price": pl.Float64,
    "age": pl.Int64,
    "born": pl.Date,
    "seen": pl.Datetime("us"),
    "size": pl.String,
    "note": pl.String,
    "grade": pl.Int64,
    "colour": pl.String,
    "zone": pl.Int64,
    "code": pl.String,
    "ward": pl.Int64,
    "member": pl.Boolean,
    "smoker": pl.Boolean,
}
PYTHON = {
    "share": float,
    "price": float,
    "age": int,
    "born": dt.date,
    "seen": dt.datetime,
    "size": str,
    "note": str,
    "grade": int,
    "colour": str,
    "zone": int,
    "code": str,
    "ward": int,
    "member": bool,
    "smoker": bool,
}
SQLITE = {
    "share": "REAL",
    "price": "REAL",
    "age": "INTEGER",
    "born": "TEXT",
    "seen": "TEXT",
    "size": "TEXT",
    "note": "TEXT",
    "grade": "INTEGER",
    "colour": "TEXT",
    "zone": "INTEGER",
    "code": "TEXT",
    "ward": "INTEGER",
    "member": "INTEGER",
    "smoker": "INTEGER",
}


def usual() -> Columns:
    """Every label but the last of each list occurs; there are no gaps, and prices have two decimal places."""
    return {
        "id": list(range(ROWS)),
        "share": [row / 2 for row in range(ROWS)],
        "price": [Decimal(row * 25) / 100 + Decimal("0.10") for row in range(ROWS)],
        "age": [20 + 3 * row for row in range(ROWS)],
        "born": [dt.date(2001, 1, 1) + dt.timedelta(days=100 * row) for row in range(ROWS)],
        "seen": [dt.datetime(2001, 1, 1, 12) + dt.timedelta(hours=7 * row) for row in range(ROWS)],
        "size": ["s", "m"] * (ROWS // 2),
        "note": ["kept, as it is"] * ROWS,
        "grade": [1, 2] * (ROWS // 2),
        "colour": ["red", "green"] * (ROWS // 2),
        "zone": [1, 2] * (ROWS // 2),
        "code": ["01", "02"] * (ROWS // 2),
        "ward": ["-1", "7"] * (ROWS // 2),
        "member": [True, False] * (ROWS // 2),
        "smoker": [True, False] * (ROWS // 2),
    }


# What the last record may hold in its place.
RECORDS: dict[str, dict[str, Any]] = {
    "more precise, with labels that nobody else has": {
        "share": 1.123456789012345,
        "price": Decimal("1.12345678"),
        "seen": dt.datetime(2002, 1, 1, 1, 1, 1, 123456),
        "size": "l",
        "grade": 3,
        "colour": "blue",
        "zone": 3,
    },
    "gaps": {name: None for name in usual() if name not in ("id", "note")},
    "far outside": {
        "share": 1e300,
        "price": Decimal(10) ** 20,
        "age": 10**9,
        "born": dt.date(9999, 12, 31),
        "seen": dt.datetime(1, 1, 1),
    },
    "stored otherwise": {"share": 1, "age": 30.0, "grade": 1.0, "zone": 2.0, "price": Decimal(3)},
}


def neighbours() -> dict[str, Columns]:
    tables = {"usual": usual()}
    for story, cells in RECORDS.items():
        tables[story] = {
            name: [*column[:-1], cells.get(name, column[-1])] for name, column in usual().items()
        }
    return tables


def with_floats(columns: Columns) -> Columns:
    """pandas without objects: decimals as floats."""
    return {**columns, "price": [None if cell is None else float(cell) for cell in columns["price"]]}


def as_pandas(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame(with_floats(columns))


def as_categoricals(columns: Columns) -> pd.DataFrame:
    frame = pd.DataFrame(with_floats(columns))
    labels = ["size", "grade", "colour", "zone", "code", "ward", "member", "smoker"]
    return frame.astype(dict.fromkeys(labels, "category"))


def as_nullable(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame(with_floats(columns)).convert_dtypes()


def as_objects(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def as_polars(columns: Columns) -> pl.DataFrame:
    return pl.DataFrame(columns, strict=False)


def as_arrow(columns: Columns) -> pa.Table:
    """As Arrow guesses them: decimals as wide as the widest, whole numbers as floats where one is."""
    return pa.table({name: pa.array(cells) for name, cells in columns.items()}).replace_schema_metadata(
        {"pandas": "{}", "who": "the input's own"}
    )


FRAMES: dict[str, Callable[[Columns], Any]] = {
    "pandas": as_pandas,
    "pandas categoricals": as_categoricals,
    "pandas nullable": as_nullable,
    "pandas objects": as_objects,
    "polars": as_polars,
    "pyarrow": as_arrow,
    "dict": dict,
}


def protected(table: Any, method: Any, schema: Schema = SCHEMA) -> Any:
    k = None if method.fixed_k else 3
    return protect(table, schema, method=method.name, epsilon=1, k=k, seed=1)


def require_types(data: Any, frame: Any) -> None:
    assert type(data) is type(frame)
    if isinstance(data, pd.DataFrame):
        kept = {"note": frame["note"].dtype}
        assert {name: data[name].dtype for name in data} == {**PANDAS, **kept}
        assert list(data) == list(PANDAS)
        assert data.index.equals(pd.RangeIndex(ROWS))
        assert not data.attrs
    elif isinstance(data, pl.DataFrame):
        assert data.schema == pl.Schema(POLARS)
    elif isinstance(data, pa.Table):
        assert data.schema.equals(ARROW, check_metadata=True)
    else:
        assert list(data) == list(PYTHON)
        for name, cells in data.items():
            may = {PYTHON[name], type(None)} if ARROW.field(name).nullable else {PYTHON[name]}
            assert {type(cell) for cell in cells} <= may


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("method", METHODS)
def test_no_record_changes_the_schema_of_a_frame(method: Any, make: Callable[[Columns], Any]) -> None:
    for story, columns in neighbours().items():
        frame = make(columns)
        release = protected(frame, method)
        note = to_arrow(frame)[0].schema.field("note").type  # kept: as it came
        expected = ARROW.set(ARROW.get_field_index("note"), pa.field("note", note))
        assert release.table.schema.equals(expected, check_metadata=True), story
        assert release.table.num_rows == ROWS
        assert all(column.num_chunks == 1 for column in release.table.columns)
        require_types(release.data, frame)


def parquet_facts(path: Path) -> Any:
    with pq.ParquetFile(path) as file:
        layout = file.metadata
        groups = [layout.row_group(place) for place in range(layout.num_row_groups)]
        columns = [
            (column.path, column.physical_type, str(column.logical_type), column.max_definition_level)
            for column in map(file.schema.column, range(len(file.schema)))
        ]
        stored = [group.column(place).compression for group in groups for place in range(group.num_columns)]
        return (
            file.schema_arrow.remove_metadata(),
            sorted(layout.metadata or {}),
            layout.created_by,
            [group.num_rows for group in groups],
            columns,
            stored,
        )


def arrow_facts(path: Path) -> Any:
    with ipc.open_file(path) as file:
        schema, batches = file.schema, [file.get_batch(n).num_rows for n in range(file.num_record_batches)]
    return schema, schema.metadata, batches


def sqlite_facts(path: Path) -> Any:
    with closing(sqlite3.connect(path)) as connection:
        return {name: kind for _, name, kind, *_ in connection.execute("PRAGMA table_info(released)")}


def csv_facts(path: Path) -> Any:
    lines = path.read_bytes().decode().split("\n")
    assert lines[-1] == ""
    for line in lines[1:-1]:
        assert line.count('"') == 2, "the kept text holds a comma, and nothing else needs quotes"
    return lines[0], len(lines)


FILES: dict[str, Callable[[Path], Any]] = {
    ".csv": csv_facts,
    ".parquet": parquet_facts,
    ".arrow": arrow_facts,
    ".db": sqlite_facts,
}


def written(table: Any, folder: Path, ending: str) -> Path:
    path = folder / f"released{ending}"
    if ending == ".db":
        stage(table, f"sqlite:///{path}", table_name="released", force=True).publish()
    else:
        stage(table, path, force=True).publish()
    return path


@pytest.mark.parametrize("method", METHODS)
def test_no_record_changes_the_layout_of_a_file(method: Any, tmp_path: Path) -> None:
    facts: dict[str, list[Any]] = {ending: [] for ending in FILES}
    for columns in neighbours().values():
        table = protected(as_arrow(columns), method).table
        for ending, look in FILES.items():
            facts[ending].append(look(written(table, tmp_path, ending)))
    for found in facts.values():
        assert all(other == found[0] for other in found)
    assert facts[".parquet"][0][:2] == (ARROW, [b"ARROW:schema"])
    assert facts[".arrow"][0] == (ARROW, None, [ROWS])
    assert facts[".db"][0] == SQLITE


@pytest.mark.parametrize("method", METHODS)
def test_no_record_changes_the_layout_of_a_file_larger_than_memory(method: Any, tmp_path: Path) -> None:
    facts = []
    for number, columns in enumerate(list(neighbours().values())[:3]):
        source = tmp_path / f"{number}.parquet"
        pq.write_table(as_arrow(columns), source)
        k = None if method.fixed_k else 3
        try:
            release = protect_file(
                source,
                SCHEMA,
                method=method.name,
                epsilon=1,
                memory="4 GB",
                scratch=tmp_path / f"scratch{number}",
                k=k,
                seed=1,
            )
        except ParameterError:
            pytest.skip("runs in memory only")
        assert release.table.schema.equals(ARROW, check_metadata=True)
        facts.append(parquet_facts(written(release.table, tmp_path, ".parquet")))
    assert all(other == facts[0] for other in facts)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".db"])
def test_no_record_of_an_input_file_changes_the_released_schema(ending: str, tmp_path: Path) -> None:
    """The readers guess types from cells; the release does not follow them."""
    method = all_methods()["laplace"]
    for columns in neighbours().values():
        path = written(as_arrow(columns), tmp_path, ending)
        if ending == ".db":
            table = read_table(f"sqlite:///{path}", table="released", schema=SCHEMA)
        else:
            table = read_table(path, schema=SCHEMA)
        assert protected(table, method).table.schema.equals(ARROW, check_metadata=True)


def test_the_pieces_of_the_input_do_not_show(tmp_path: Path) -> None:
    """A CSV reader cuts a table by bytes, so the cuts follow from the length of protected cells."""
    table = as_arrow(usual())
    pieces = pa.concat_tables([table.slice(0, 5), table.slice(5)])
    facts = [
        arrow_facts(written(protected(one, all_methods()["laplace"]).table, tmp_path, ".arrow"))
        for one in (table, pieces)
    ]
    assert facts[0] == facts[1]


# The three instances that were found.


@pytest.mark.parametrize("method", ["laplace", "dp-sorted", "dp-synthetic"])
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_one_more_decimal_place_does_not_show(method: str, make: Callable[[Columns], Any]) -> None:
    schema = Schema.load({"attributes": {"x": ranged("continuous", 0, 10)}})
    for last in ("1.25", "1.1234567"):
        data = make({"x": [Decimal("1.25")] * 29 + [Decimal(last)]})
        release = protected(data, all_methods()[method], schema)
        assert release.table.schema.field("x").type == pa.float64()


def test_one_nan_does_not_change_the_type_of_a_database_column() -> None:
    """`numeric(10, 2)` was read as decimal128, and as double as soon as one cell was NaN."""
    schema = Schema.load({"attributes": {"x": ranged("continuous", 0, 10)}})
    cells = [Decimal("1.25")] * 30
    for column in (pa.array(cells, pa.decimal128(10, 2)), pa.array([1.25] * 29 + [float("nan")])):
        table = protected(pa.table({"x": column}), all_methods()["laplace"], schema).table
        assert table.schema.field("x") == pa.field("x", pa.float64(), nullable=False)


@pytest.mark.parametrize("seed", range(5))
def test_a_categorical_has_the_same_dtype_whichever_labels_occur(seed: int) -> None:
    schema = Schema.load({"attributes": {"c": labelled("categorical", ["a", "b", "c"], "error")}})
    for last in ("a", "c"):
        frame = pd.DataFrame({"c": pd.Categorical(["a", "b"] * 3 + [last])})
        released = protect(frame, schema, method="laplace", epsilon=1, seed=seed).data
        assert released["c"].dtype == TEXT


def test_nullable_labels_have_one_dtype_whether_a_gap_was_released_or_not() -> None:
    _, restore = to_arrow(pd.DataFrame({"zone": [1]}))
    field = pa.field("zone", pa.int64(), nullable=True)
    for cells in ([1, 2], [1, None], [None, None]):
        table = pa.Table.from_arrays([pa.array(cells, pa.int64())], schema=pa.schema([field]))
        assert restore(table, ())["zone"].dtype == "Int64"


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (("1", "2"), pa.int64()),
        (("0", "-1", "999999999999999999"), pa.int64()),
        (("01", "2"), pa.string()),
        (("-0", "2"), pa.string()),
        (("1", "1.5"), pa.string()),
        (("1", "9999999999999999999"), pa.string()),
        (("1", "²"), pa.string()),
        (("1", "other"), pa.string()),
    ],
)
def test_labels_are_whole_numbers_only_if_all_of_them_are_written_so(
    labels: tuple[str, ...], kind: pa.DataType
) -> None:
    declared = labelled("categorical", list(labels), "error")
    field = released_field(Attribute.model_validate({"name": "c", **declared}), labels)
    assert field == pa.field("c", kind, nullable=False)


DOCUMENTED = {
    "`continuous`": "share",
    "`integer`": "age",
    "`date`": "born",
    "`timestamp`": "seen",
    "`boolean`": "smoker",
    "labels, all whole numbers": "grade",
    "labels, any other": "size",
    "`boolean`, `missing: own category`": "member",
    "labels, all whole numbers, `missing: own category`": "zone",
    "labels, any other, `missing: own category`": "colour",
}


def test_the_documented_types_are_those_released() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "describe-a-table.md"
    section = page.read_text().split("## What type a released column has")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")][2:]
    lists: Columns = {name: [cells[0], cells[1]] * 15 for name, cells in usual().items()}
    frames = {make: protected(make(lists), all_methods()["laplace"]) for make in (pd.DataFrame, pl.DataFrame)}
    pandas, polars = (release.data for release in frames.values())
    table = frames[pl.DataFrame].table
    stored = {
        kind: dict(zip(table.column_names, prepared(table, kind)[1], strict=True)) for kind in DATABASES
    }
    expected = []
    for words, name in DOCUMENTED.items():
        field = table.schema.field(name)
        expected.append(
            [
                words,
                f"`{field.type}`" + (", may be null" if field.nullable else ""),
                f"`{pandas[name].dtype}`",
                f"`{polars.schema[name]}`".replace("(time_unit='us', time_zone=None)", ""),
                f"`{stored['postgresql'][name]}`",
                f"`{stored['sqlite'][name]}`",
            ]
        )
    assert rows == expected
