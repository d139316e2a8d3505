"""From Python: whatever the command can do, with files, frames, databases, limits, ledgers and keys."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import coterie
from coterie.errors import BudgetExceeded, LedgerError, OutputError, ParameterError
from coterie.publication.staged_files import StagedFile

PEOPLE = coterie.demo_population(people=120)
SCHEMA = coterie.demo_schema()
LAPLACE: dict[str, Any] = {"method": "laplace", "epsilon": "1"}


def spent(book: Path) -> Fraction:
    with coterie.Ledger.open(book) as ledger:
        return ledger.balance("people").spent


@pytest.fixture
def book(tmp_path: Path) -> Path:
    coterie.Ledger.add_population(tmp_path / "ledger.sqlite", "people", "2")
    return tmp_path / "ledger.sqlite"


def test_a_frame_a_file_and_a_database_give_the_same_release(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    with sqlite3.connect(tmp_path / "people.db") as database:
        names = PEOPLE.column_names
        database.execute(f"create table people ({', '.join(names)})")
        rows = zip(*(column.to_pylist() for column in PEOPLE.columns), strict=True)
        database.executemany(f"insert into people values ({', '.join('?' * len(names))})", rows)
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml())
    first = coterie.protect(PEOPLE, SCHEMA, seed=1, **LAPLACE).table
    described = tmp_path / "schema.yaml"
    by_path = coterie.protect(tmp_path / "people.parquet", described, seed=1, **LAPLACE)
    address = f"sqlite:///{tmp_path}/people.db"
    by_table = coterie.protect(address, described, table="people", seed=1, **LAPLACE)
    limited = coterie.protect(tmp_path / "people.parquet", SCHEMA, seed=1, memory="16GB", **LAPLACE)
    assert by_path.table.equals(first)
    assert by_table.table.equals(first)
    assert limited.to_frame().equals(first)
    assert isinstance(coterie.protect(PEOPLE.to_pandas(), SCHEMA, **LAPLACE).data, type(PEOPLE.to_pandas()))


def test_a_release_larger_than_memory_writes_itself_and_leaves_nothing(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    (tmp_path / "work").mkdir()
    release = coterie.protect(
        tmp_path / "people.parquet", SCHEMA, memory="16GB", scratch=tmp_path / "work", **LAPLACE
    )
    assert list((tmp_path / "work").iterdir())
    with pytest.raises(ParameterError, match="certified when it is written"):
        _ = release.certificate
    release.write(tmp_path / "out.parquet")
    assert coterie.verify(tmp_path / "out.parquet").signer is None
    del release
    assert not list((tmp_path / "work").iterdir())


def test_what_an_engine_cannot_do_is_said(tmp_path: Path) -> None:
    for options, message in (
        ({"engine": "dask"}, "no engine"),
        ({"memory": "1GB"}, "in memory already"),
        ({"scratch": tmp_path}, "belongs to --memory"),
        ({"master": "local"}, "belongs to Spark"),
        ({"table": "people"}, "the data are a frame"),
    ):
        with pytest.raises(ParameterError, match=message):
            coterie.protect(PEOPLE, SCHEMA, **LAPLACE, **options)


def test_a_release_is_charged_once_however_often_it_is_written(tmp_path: Path, book: Path) -> None:
    release = coterie.protect(PEOPLE, SCHEMA, **LAPLACE)
    charged: dict[str, Any] = {"ledger": book, "population": "people"}
    release.write(tmp_path / "one.csv", **charged)
    assert spent(book) == 1
    with pytest.raises(OutputError, match="exists already"):
        release.write(tmp_path / "one.csv", **charged)
    coterie.publish(PEOPLE, SCHEMA, tmp_path / "two.csv", **LAPLACE, **charged)
    assert spent(book) == 2
    release.write(tmp_path / "copy.csv", **charged)
    with coterie.Ledger.open(book) as opened:
        release.write(tmp_path / "copy.csv", ledger=opened, population="people", force=True)
    assert spent(book) == 2
    assert (tmp_path / "copy.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    with pytest.raises(BudgetExceeded):
        coterie.protect(PEOPLE, SCHEMA, **LAPLACE).write(tmp_path / "three.csv", **charged)
    with pytest.raises(ParameterError, match="belong together"):
        release.write(tmp_path / "three.csv", ledger=book)
    seeded = coterie.protect(PEOPLE, SCHEMA, seed=1, **LAPLACE)
    with pytest.raises(ParameterError, match="protects nobody"):
        seeded.write(tmp_path / "three.csv", **charged)
    assert not (tmp_path / "three.csv").exists()


def test_a_request_that_is_made_again_after_a_fault_is_recognised(
    tmp_path: Path, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charged, and then the disk is gone: the same request finishes it, from the same bytes."""
    charged: dict[str, Any] = {"ledger": book, "population": "people"}

    def full(staged: StagedFile) -> None:
        raise OutputError("No room is left.", "Make some.")

    with monkeypatch.context() as patch:
        patch.setattr(StagedFile, "publish", full)
        with pytest.raises(LedgerError, match="is charged"):
            coterie.publish(PEOPLE, SCHEMA, tmp_path / "out.csv", **LAPLACE, **charged)
    written = coterie.publish(PEOPLE, SCHEMA, tmp_path / "out.csv", **LAPLACE, **charged)
    assert written.certificate == coterie.verify(tmp_path / "out.csv").certificate
    assert spent(book) == 1


def test_nothing_public_prints_a_table(tmp_path: Path, book: Path) -> None:
    release = coterie.protect(PEOPLE, SCHEMA, **LAPLACE)
    found = coterie.compare(PEOPLE, SCHEMA, methods="laplace", epsilon=1, runs=1)
    with coterie.Ledger.open(book) as ledger:
        shown = [
            release,
            release.certificate,
            release.write(tmp_path / "out.csv"),
            SCHEMA,
            coterie.Schema.draft(PEOPLE),
            coterie.list_methods(),
            coterie.evaluate(PEOPLE, release, SCHEMA, measures=["sse", "correlation"]),
            coterie.audit(PEOPLE, release, SCHEMA, attacks=["tie-linkage"]),
            coterie.verify(tmp_path / "out.csv"),
            found,
            ledger,
        ]
        for value in shown:
            assert len(repr(value)) < 400
            assert repr(value).startswith("<")
        for kind in ("arrow", "pandas", "polars"):
            for value in (release, found, ledger, coterie.list_methods()):
                assert len(value.to_frame(kind)) >= 0
    with pytest.raises(ParameterError, match="no kind of frame"):
        release.to_frame("excel")


def test_a_draft_reads_files_and_frames(tmp_path: Path) -> None:
    pa.csv.write_csv(PEOPLE, tmp_path / "people.csv")
    drafts = [coterie.Schema.draft(data) for data in (tmp_path / "people.csv", PEOPLE, PEOPLE.to_pandas())]
    assert {draft.text for draft in drafts} == {drafts[0].text}
    assert coterie.Schema.load(drafts[0].text) == drafts[0].schema
    assert set(drafts[0].to_fill) == {attribute.name for attribute in SCHEMA.protected}


def test_messages_speak_to_python_too(tmp_path: Path) -> None:
    """No message of a function may be understood only by someone who types options."""
    missing = tmp_path / "missing.yaml"
    tries: list[Any] = [
        lambda: coterie.protect(PEOPLE, SCHEMA, method="mdav"),
        lambda: coterie.compare(PEOPLE, SCHEMA, methods="ir", epsilon=[], k=5),
        lambda: coterie.compare(PEOPLE, SCHEMA, methods="ir", epsilon=1, k=5, runs=0),
        lambda: coterie.protect(PEOPLE, SCHEMA, **LAPLACE).write(tmp_path / "o.csv", population="people"),
        lambda: coterie.protect(PEOPLE, missing, **LAPLACE),
        lambda: coterie.protect(PEOPLE, coterie.Schema.draft(PEOPLE), **LAPLACE),  # type: ignore[arg-type]
    ]
    words = []
    for attempt in tries:
        with pytest.raises(coterie.CoterieError) as fault:
            attempt()
        words.append(str(fault.value))
    assert not [line for line in words if "--" in line]
    assert str(missing) in words[-2]
    assert "draft" in words[-1]


def test_one_measure_may_be_named_without_a_list() -> None:
    release = coterie.protect(PEOPLE, SCHEMA, **LAPLACE)
    assert list(coterie.evaluate(PEOPLE, release, SCHEMA, measures="sse").measures) == ["sse"]
    found = coterie.compare(PEOPLE, SCHEMA, methods="laplace", epsilon=1, k=5, runs=1, measures="sse")
    assert "sse" in found.to_frame().column_names


def test_a_balance_is_short(book: Path) -> None:
    with coterie.Ledger.open(book) as ledger:
        assert repr(ledger.balance("people")) == "<Balance of people: ε 0 spent of 2>"
        assert repr(ledger).endswith("1 population, 0 releases>")
