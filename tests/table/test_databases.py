"""Databases in: PostgreSQL (a real server) and SQLite, their types and their faults."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import adbc_driver_postgresql.dbapi as driver
import pyarrow as pa
import pytest

from coterie.errors import CoterieError, DataError, ParameterError
from coterie.table.reading import read_table
from postgres import PASSWORD

CANARY = "canary-4711"


def sql(url: str, *statements: str) -> None:
    with driver.connect(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def refusal(url: str, **options: str) -> CoterieError:
    with pytest.raises(CoterieError) as caught:
        read_table(url, **options)  # type: ignore[arg-type]
    for secret in (CANARY, PASSWORD):
        assert secret not in str(caught.value)
    # A traceback would print the driver's message, which quotes SQL and values.
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    path = tmp_path / "people.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute('CREATE TABLE "the people" (age INTEGER, share REAL, name TEXT)')
        connection.executemany(
            'INSERT INTO "the people" VALUES (?, ?, ?)', [(1, 0.5, "a"), (None, None, None)]
        )
        connection.execute("CREATE TABLE mixed (x INTEGER)")
        connection.executemany("INSERT INTO mixed VALUES (?)", [(row,) for row in range(3000)])
        connection.execute("INSERT INTO mixed VALUES (?)", (CANARY,))
        connection.commit()
    return f"sqlite:///{path}"


EXPECTED = {"age": [1, None], "share": [0.5, None], "name": ["a", None]}


def test_sqlite_table_and_query(sqlite_url: str) -> None:
    assert read_table(sqlite_url, table="the people").to_pydict() == EXPECTED
    queried = read_table(sqlite_url, query='SELECT age * 2 AS twice FROM "the people" WHERE age > 0')
    assert queried.to_pydict() == {"twice": [2]}


def test_sqlite_faults(sqlite_url: str, tmp_path: Path) -> None:
    assert "Did you mean 'the people'?" in refusal(sqlite_url, table="the_people").advice
    assert "no database file" in refusal(f"sqlite:///{tmp_path}/none.db", table="x").problem
    assert not (tmp_path / "none.db").exists()  # SQLite would have made it
    (tmp_path / "bad.db").write_text(CANARY * 200)
    assert "not a SQLite database" in refusal(f"sqlite:///{tmp_path}/bad.db", table="x").problem
    assert "refuses the query" in refusal(sqlite_url, query=f"SELEC '{CANARY}'").problem
    assert "'age'" in refusal(sqlite_url, query='SELECT age, age FROM "the people"').problem


def test_a_name_is_never_sql(sqlite_url: str) -> None:
    error = refusal(sqlite_url, table='the people"; DROP TABLE "the people')
    assert "has no table" in error.problem
    assert read_table(sqlite_url, table="the people").num_rows == 2


def test_what_to_read_must_be_one_thing(sqlite_url: str) -> None:
    assert isinstance(refusal(sqlite_url), ParameterError)
    assert isinstance(refusal(sqlite_url, table="a", query="b"), ParameterError)
    for name in ("", "a\0b", "a\nb", "x" * 64):
        assert isinstance(refusal(sqlite_url, table=name), ParameterError)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresq://u:{PASSWORD}@h/d",
        f"mysql://u:{PASSWORD}@h/d",
        "sqlite://",
        "sqlite:///",
        f"postgresql://u:{PASSWORD}@h:port/d",
        f"postgresql://u:12/{PASSWORD}@h/d",
        f"postgresql://u:12#{PASSWORD}@h/d",
        f"postgresql://u:12?{PASSWORD}@h/d",
    ],
)
def test_addresses_that_cannot_be_read(url: str) -> None:
    error = refusal(url, table="t")
    assert isinstance(error, ParameterError)
    assert "12" not in error.problem


def test_a_missing_driver_is_an_extra(sqlite_url: str) -> None:
    """In a process of its own, where the drivers cannot be imported."""
    program = (
        "import sys; sys.modules['adbc_driver_sqlite'] = None\n"
        "from coterie.table.reading import read_table\n"
        "from coterie.errors import MissingExtra\n"
        "try: read_table(sys.argv[1], table='x')\n"
        "except MissingExtra as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, sqlite_url], capture_output=True, text=True, check=True
    )
    assert "coterie[database]" in done.stdout


@pytest.mark.database
def test_postgresql_types(postgres_url: str) -> None:
    sql(
        postgres_url,
        'DROP TABLE IF EXISTS "All Types"',
        'CREATE TABLE "All Types" (i int, l bigint, x double precision, f real, price numeric(10, 2),'
        " free numeric, odd numeric(10, 2), big numeric(50, 0), t text, d date, m timestamp, z timestamptz,"
        " b boolean, u uuid, j jsonb)",
        "INSERT INTO \"All Types\" VALUES (1, 2, 0.1, 0.5, 12.50, 1.25, 'NaN', 7, 'a', '2020-01-02',"
        " '2020-01-02 03:04', '2020-01-02 03:04+00', true, '00000000-0000-0000-0000-000000000001', '{}')",
        'INSERT INTO "All Types" (i) VALUES (NULL)',
    )
    table = read_table(postgres_url, table="All Types")
    assert {field.name: str(field.type) for field in table.schema} == {
        "i": "int32",
        "l": "int64",
        "x": "double",
        "f": "float",
        "price": "decimal128(10, 2)",
        "free": "double",
        "odd": "decimal128(10, 2)",
        "big": "double",
        "t": "string",
        "d": "date32[day]",
        "m": "timestamp[us]",
        "z": "timestamp[us, tz=UTC]",
        "b": "bool",
        "u": "string",
        "j": "string",
    }
    assert all(not field.metadata for field in table.schema)
    row = table.to_pylist()[0]
    assert (row["x"], row["price"], row["free"]) == (0.1, Decimal("12.50"), 1.25)
    assert row["odd"] is None, "NaN is a missing value, and changes nobody's type"
    assert row["u"] == "00000000-0000-0000-0000-000000000001"
    assert set(table.to_pylist()[1].values()) == {None}
    empty = read_table(postgres_url, query='SELECT price FROM "All Types" WHERE false')
    assert empty.schema.field("price").type == pa.decimal128(10, 2)


@pytest.mark.database
def test_postgresql_schema_query_and_names(postgres_url: str) -> None:
    sql(
        postgres_url,
        "DROP SCHEMA IF EXISTS office CASCADE",
        "CREATE SCHEMA office",
        "CREATE TABLE office.wages AS SELECT 1 AS x",
        "DROP TABLE IF EXISTS census",
        "CREATE TABLE census AS SELECT 2 AS x",
    )
    assert read_table(postgres_url, table="office.wages").to_pydict() == {"x": [1]}
    assert read_table(postgres_url, query="SELECT x + 1 AS y FROM census").to_pydict() == {"y": [3]}
    assert read_table(postgres_url.replace("postgresql:", "postgres:"), table="census").num_rows == 1
    assert "Did you mean 'census'?" in refusal(postgres_url, table="cencus").advice
    assert "Did you mean 'office.wages'?" in refusal(postgres_url, table="office.wage").advice
    assert "has no table 'nowhere.x'" in refusal(postgres_url, table="nowhere.x").problem
    refusal(postgres_url, table='census"; DROP TABLE "census')
    assert read_table(postgres_url, table="census").num_rows == 1


@pytest.mark.database
def test_postgresql_faults(postgres_url: str) -> None:
    assert "refuses this user or password" in refusal(postgres_url.replace(PASSWORD, "x"), table="t").problem
    assert "wants a password" in refusal(postgres_url.replace(":" + PASSWORD, ""), table="t").problem
    assert "no such database" in refusal(postgres_url + "x", table="t").problem
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound and not listening: refuses
        port = probe.getsockname()[1]
        assert (
            "does not answer" in refusal(f"postgresql://u:{PASSWORD}@127.0.0.1:{port}/d", table="t").problem
        )
    assert "not found" in refusal(f"postgresql://u:{PASSWORD}@nohost.invalid/d", table="t").problem


@pytest.mark.database
def test_postgresql_refused_statements(postgres_url: str) -> None:
    sql(
        postgres_url,
        "DROP TABLE IF EXISTS texts, coins",
        f"CREATE TABLE texts AS SELECT '{CANARY}'::text AS x",
        "CREATE TABLE coins AS SELECT 1::money AS x",
    )
    assert "SQLSTATE 42601" in refusal(postgres_url, query=f"SELEC '{CANARY}'").problem
    assert "SQLSTATE 22P02" in refusal(postgres_url, query="SELECT x::int FROM texts").problem
    assert "no columns" in refusal(postgres_url, query="CREATE TABLE unwanted (x int)").problem
    assert "has no table" in refusal(postgres_url, table="unwanted").problem  # rolled back
    assert "numeric(18, 2)" in refusal(postgres_url, table="coins").advice
    assert "'x'" in refusal(postgres_url, query="SELECT x, x FROM texts").problem


@pytest.mark.database
def test_postgresql_without_permission(postgres_url: str) -> None:
    sql(
        postgres_url,
        "DROP TABLE IF EXISTS closed",
        "CREATE TABLE closed (x int)",
        "DROP ROLE IF EXISTS guest",
        "CREATE ROLE guest LOGIN PASSWORD 'guest'",
    )
    guest = postgres_url.replace(f"coterie:{PASSWORD}", "guest:guest")
    error = refusal(guest, table="closed")
    assert isinstance(error, DataError)
    assert "may not read" in error.problem
