"""Tables out, into SQLite and a real PostgreSQL: all or nothing, with a digest that reading confirms."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as postgresql
import adbc_driver_sqlite.dbapi as sqlite
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import OutputError, ParameterError
from coterie.publication.staging import resume_table, stage
from coterie.table.digest import table_digest
from coterie.table.reading import read_table
from postgres import PASSWORD

TABLE = pa.table(
    {"x": [1.5, None, -0.0], "i": [3, 1, 2], "s": ["ü", None, ""], 'odd "name"': [True, False, None]}
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.database)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/out.db"
    return str(request.getfixturevalue("postgres_url"))


@contextmanager
def opened(url: str) -> Iterator[Any]:
    kind, _, rest = url.partition(":///")
    connect = sqlite.connect(rest) if kind == "sqlite" else postgresql.connect(url)
    with closing(connect) as connection, connection.cursor() as cursor:
        yield cursor
        connection.commit()


def tables(url: str) -> list[str]:
    with opened(url) as cursor:
        if url.startswith("sqlite"):
            cursor.execute("SELECT name FROM sqlite_master ORDER BY name")
        else:
            cursor.execute(
                "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
            )
        return [name for (name,) in cursor.fetchall()]


def test_stage_then_publish(url: str) -> None:
    staged = stage(TABLE, url, table_name="My release", force=False)
    [hidden] = tables(url)
    assert hidden.startswith("My release__coterie_")
    staged.publish()
    assert tables(url) == ["My release"]
    back = read_table(url, table="My release")
    assert back.column_names == TABLE.column_names
    assert sorted(back["i"].to_pylist()) == [1, 2, 3]
    assert table_digest(back) == staged.sha256
    assert PASSWORD not in f"{staged} {staged.target} {staged.temporary}"
    staged.publish()  # again: it is published
    assert tables(url) == ["My release"]


def test_discard(url: str) -> None:
    staged = stage(TABLE, url, table_name="t", force=False)
    staged.discard()
    staged.discard()
    assert tables(url) == []
    with pytest.raises(OutputError, match="is gone"):
        staged.publish()


def test_existing_table_needs_force(url: str) -> None:
    stage(TABLE, url, table_name="t", force=False).publish()
    with pytest.raises(OutputError, match="--force"):
        stage(TABLE, url, table_name="t", force=False)
    assert tables(url) == ["t"]
    other = stage(TABLE.slice(0, 1), url, table_name="t", force=True)
    assert read_table(url, table="t").num_rows == 3
    other.publish()
    assert read_table(url, table="t").num_rows == 1
    assert tables(url) == ["t"]


def test_a_table_that_appears_meanwhile_is_kept(url: str) -> None:
    first = stage(TABLE, url, table_name="t", force=False)
    stage(TABLE.slice(0, 1), url, table_name="t", force=False).publish()
    with pytest.raises(OutputError, match="has a table"):
        first.publish()
    first.discard()
    assert read_table(url, table="t").num_rows == 1
    assert tables(url) == ["t"]


def test_a_view_is_not_replaced(url: str) -> None:
    stage(TABLE, url, table_name="t", force=False).publish()
    with opened(url) as cursor:
        cursor.execute("CREATE VIEW v AS SELECT i FROM t")
    staged = stage(TABLE, url, table_name="v", force=True)
    with pytest.raises(OutputError, match="is a view"):
        staged.publish()
    staged.discard()
    assert tables(url) == ["t", "v"]


def test_the_input_table_is_never_overwritten(url: str) -> None:
    for name in ("t", "T"):
        with pytest.raises(OutputError, match="overwrite the input"):
            stage(TABLE, url, table_name=name, force=True, inputs=[(url, "t")])
    stage(TABLE, url, table_name="u", force=True, inputs=[(url, "t"), "a.csv"]).discard()


def test_faults(url: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no table was named"):
        stage(TABLE, url, force=False)
    with pytest.raises(OutputError, match="'x' cannot be stored"):
        stage(pa.table({"x": [[1]]}), url, table_name="t", force=False)
    with pytest.raises(OutputError, match="'x' cannot be stored"):
        stage(pa.table({"x": pa.array([2**64 - 1], pa.uint64())}), url, table_name="t", force=False)
    with pytest.raises(OutputError, match="no folder"):
        stage(TABLE, f"sqlite:///{tmp_path}/nowhere/x.db", table_name="t", force=False)
    assert tables(url) == []


def test_every_type_reads_back_to_the_digest(url: str) -> None:
    kinds: dict[str, Any] = {
        **{
            str(kind): pa.array([1, 2, None], kind)
            for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16())
        },
        **{
            str(kind): pa.array([1, 2, None], kind)
            for kind in (pa.int32(), pa.uint32(), pa.int64(), pa.uint64())
        },
        "f4": pa.array([0.1, 1e30, None], pa.float32()),
        "f8": pa.array([0.1, 1e300, -5e-324]),
        "odd": pa.array([float("nan"), float("inf"), -0.0]),
        "decimal": pa.array([Decimal("12.50"), Decimal("-0.01"), None], pa.decimal128(10, 2)),
        "text": pa.array(["a", "", None]),
        "large": pa.array(["a", "ü", None], pa.large_string()),
        "category": pa.array(["a", "b", "a"]).dictionary_encode(),
        "bool": pa.array([True, None, False]),
        "date": pa.array([date(2020, 1, 2), None, date(1900, 1, 1)]),
        "moment": pa.array([datetime(2020, 1, 2, 3, 4, 5, 6), None, None]),
        "zoned": pa.array([datetime(2020, 1, 2, tzinfo=UTC), None, None]),
        "nothing": pa.nulls(3),
        "empty": pa.array([None] * 3, pa.float64()),
    }
    for rows in (3, 0):
        staged = stage(pa.table(kinds).slice(0, rows), url, table_name="t", force=True)
        staged.publish()
        assert table_digest(read_table(url, table="t")) == staged.sha256


def test_more_rows_than_a_batch(url: str) -> None:
    values = np.random.default_rng(7).normal(size=20_000)
    table = pa.table({"x": values, "i": np.arange(20_000), "r": np.round(values)})
    staged = stage(table, url, table_name="t", force=False)
    staged.publish()
    assert staged.sha256 == table_digest(read_table(url, table="t")) == table_digest(table)


CRASH = """
import os, signal, sys
import pyarrow as pa
from coterie.publication.staging import stage
import coterie.publication.staging as module
moment, url = sys.argv[1:]
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
zeros = pa.Array.from_buffers(pa.float64(), 1000, [None, pa.py_buffer(bytes(8000))])  # loads no pandas
staged = stage(pa.Table.from_arrays([zeros], ["x"]), url, table_name="t", force=True)
print(staged.temporary, staged.sha256, sep="|", flush=True)
if moment == "after staging":
    kill()
execute = module.execute
def until_renamed(connection, statement):
    execute(connection, statement)
    if "RENAME" in statement:
        kill()
module.execute = until_renamed
staged.publish()
"""


@pytest.mark.parametrize("moment", ["after staging", "before the commit"])
def test_kill_keeps_the_old_table_and_the_staged_one_can_be_finished(url: str, moment: str) -> None:
    stage(TABLE, url, table_name="t", force=False).publish()
    done = subprocess.run(
        [sys.executable, "-c", CRASH, moment, url], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert read_table(url, table="t").num_rows == 3
    temporary, sha256 = done.stdout.strip().split("|")
    again = resume_table(url, "t", temporary=temporary, sha256=sha256, force=True)
    again.publish()
    assert table_digest(read_table(url, table="t")) == sha256
    assert tables(url) == ["t"]
    with pytest.raises(OutputError, match="another database"):
        resume_table(url, "t", temporary="sqlite:///elsewhere table 't'", sha256=sha256, force=True)


@pytest.mark.database
def test_postgresql_schemas_and_dependent_views(postgres_url: str) -> None:
    with opened(postgres_url) as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS releases CASCADE")
        cursor.execute("CREATE SCHEMA releases")
    stage(TABLE, postgres_url, table_name="releases.t", force=True).publish()
    assert read_table(postgres_url, table="releases.t").num_rows == 3
    with opened(postgres_url) as cursor:
        cursor.execute("CREATE VIEW releases.v AS SELECT i FROM releases.t")
    staged = stage(TABLE, postgres_url, table_name="releases.t", force=True)
    with pytest.raises(OutputError, match="depend"):
        staged.publish()
    staged.discard()
    with pytest.raises(OutputError, match="no schema 'nowhere'"):
        stage(TABLE, postgres_url, table_name="nowhere.t", force=False)
    with pytest.raises(OutputError, match="refuses this user") as caught:
        stage(TABLE, postgres_url.replace(PASSWORD, "canary"), table_name="t", force=False)
    assert "canary" not in str(caught.value)


def test_locked_sqlite(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/out.db"
    staged = stage(TABLE, url, table_name="t", force=False)
    with closing(sqlite.connect(str(tmp_path / "out.db"))) as other, other.cursor() as cursor:
        cursor.execute("CREATE TABLE held (x INTEGER)")
        with pytest.raises(OutputError, match="is locked"):
            staged.publish()
        other.rollback()
    staged.publish()
    assert os.listdir(tmp_path) == ["out.db"]


cell = st.floats() | st.none()
rows = st.lists(
    st.tuples(cell, st.integers(-(2**63), 2**63 - 1), st.text(max_size=5) | st.none()), max_size=8
)


def as_table(records: list[tuple[Any, Any, Any]]) -> pa.Table:
    columns = [list(column) for column in zip(*records, strict=True)] or [[], [], []]
    return pa.table(columns, schema=pa.schema([("x", pa.float64()), ("i", pa.int64()), ("s", pa.string())]))


@given(rows, st.randoms(use_true_random=False))
def test_digest_ignores_order_and_chunks(records: list[tuple[Any, Any, Any]], draw: Any) -> None:
    table = as_table(records)
    shuffled = records[:]
    draw.shuffle(shuffled)
    cut = len(records) // 2
    parts = pa.concat_tables([as_table(shuffled[:cut]), as_table(shuffled[cut:])])
    assert table_digest(parts) == table_digest(table)


@given(rows, rows)
def test_digest_tells_tables_apart(
    left: list[tuple[Any, Any, Any]], right: list[tuple[Any, Any, Any]]
) -> None:
    def content(records: list[tuple[Any, Any, Any]]) -> list[str]:
        return sorted(repr((None if x is None else x + 0.0, i, s)) for x, i, s in records)

    same = content(left) == content(right)
    assert (table_digest(as_table(left)) == table_digest(as_table(right))) is same


def test_digest_sees_names_columns_repetitions_and_places() -> None:
    base = {"a": [1, 2], "b": [3, 4]}
    variants = [
        base,
        {"a": [1, 2], "c": [3, 4]},
        {"b": [3, 4], "a": [1, 2]},
        {"a": [1, 2], "b": [4, 3]},
        {"a": [1, 2, 2], "b": [3, 4, 4]},
        {"a": [1, 2, None], "b": [3, 4, None]},
        {"a": ["1", "2"], "b": [3, 4]},
        {"a": [1.0, 2.0], "b": [3, 4]},
    ]
    assert len({table_digest(pa.table(variant)) for variant in variants}) == len(variants)
    assert table_digest(pa.table({"a": ["ab", "c"]})) != table_digest(pa.table({"a": ["a", "bc"]}))
