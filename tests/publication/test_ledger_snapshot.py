"""A long ledger keeps a snapshot of its accounts: sealed like everything else, and never a second truth."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_staged_file import StagedFile

from coterie.errors import LedgerError
from coterie.promise.loss import Loss, LossModel
from coterie.publication.ledger import Book, Ledger, Purpose, seals, storage
from coterie.publication.ledger.account import digest_of
from coterie.publication.ledger.seals import canonical, decoded, seal, sealed
from coterie.publication.ledger.storage import Storage

Make = Callable[..., Purpose]


def releases(path: Path, folder: Path, purpose: Make, names: str) -> None:
    for name in names:
        with Ledger.open(path) as ledger, ledger.charge(purpose()) as charge:
            charge.publish([StagedFile.write(folder / f"{name}.csv", b"a")])


@pytest.fixture
def snapped(path: Path, tmp_path: Path, purpose: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two events make the population, three each release; event 9 is a snapshot, and three come after it."""
    monkeypatch.setattr(storage, "_EVENTS_PER_SNAPSHOT", 8)
    releases(path, tmp_path, purpose, "abc")
    return path


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def alter(path: Path, *statements: str) -> None:
    for statement in ("DROP TRIGGER no_update", "DROP TRIGGER no_delete", *statements):
        rows(path, statement)


def replayed(path: Path) -> Book:
    """From the events alone."""
    book = Book()
    book.enter(decoded(sealed(rows(path, "SELECT number, content, seal FROM events ORDER BY number"))))  # type: ignore[arg-type]
    return book


def test_what_lies_before_a_snapshot_is_checked_and_not_read(
    snapped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [number for number, _ in rows(snapped, "SELECT number, content FROM snapshots")] == [9]
    sealed, read = [], []
    one_seal, one_read = seals.seal, seals._decode
    monkeypatch.setattr(seals, "seal", lambda *a: sealed.append(1) or one_seal(*a))  # type: ignore[func-returns-value]
    monkeypatch.setattr(seals, "_decode", lambda *a: read.append(1) or one_read(*a))  # type: ignore[func-returns-value]
    book = Ledger.inspect(snapped)
    assert book.balance("patients").spent == 3
    assert (len(sealed), len(read)) == (12, 4)  # the snapshot's own event, and those of the last release
    assert len(book.entries) == 3
    assert len(book.copy().entries) == 3
    assert len(read) == 13


def test_the_book_is_the_one_that_all_events_make(snapped: Path, tmp_path: Path, purpose: Make) -> None:
    releases(snapped, tmp_path, purpose, "defg")
    whole, found = replayed(snapped), Ledger.inspect(snapped)
    assert found.snapshot_at == whole.snapshot_at > 9
    assert found.seals == whole.seals
    assert found.balances("patients") == whole.balances("patients")
    assert found.entries == whole.entries
    assert len(rows(snapped, "SELECT * FROM snapshots")) == 1


def test_accounts_of_every_kind_come_back(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(storage, "_EVENTS_PER_SNAPSHOT", 1)
    Ledger.add_population(path, "guests", 5, delta="1e-6", individual_lifetime=4, refuse_unproved=True)
    Ledger.add_population(path, "guests", 9, delta="1e-6", unit="household")
    pure = Loss.pure(Fraction(1, 3))
    concentrated = replace(pure, epsilon=None, rho=Fraction(1, 50))
    approximate = replace(pure, delta=Fraction(1, 10**9))
    for number, loss in enumerate([pure, concentrated, approximate, replace(pure, model=LossModel.IDP)]):
        target = str(tmp_path / f"{number}.csv")
        with (
            Ledger.open(path) as ledger,
            ledger.charge(Purpose("guests", loss, "x", "proved", target)) as one,
        ):
            one.publish([StagedFile.write(Path(target), b"a")])
    Ledger.open(path).close()
    found, whole = Ledger.inspect(path), replayed(path)
    assert found._entries == {}
    assert found.balances("guests") == whole.balances("guests")
    assert found.balances("patients") == whole.balances("patients")


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("UPDATE events SET content = replace(content, '\"1\"', '\"2\"') WHERE number = 3", 3),
        ("UPDATE events SET content = content || ' ' WHERE number = 9", 9),
        ('UPDATE snapshots SET content = replace(content, \'"pure":"2"\', \'"pure":"1"\')', 9),
        ("UPDATE snapshots SET content = x'00'", 9),
        ("UPDATE snapshots SET number = 8", 8),
        ("UPDATE snapshots SET number = 99", 13),
        ("DELETE FROM events WHERE number > 8", 9),
    ],
)
def test_another_hand_is_found_at_every_opening(snapped: Path, statement: str, number: int) -> None:
    alter(snapped, statement)
    for action in (Ledger.open, Ledger.inspect):
        with pytest.raises(LedgerError, match=f"its event {number} was changed"):
            action(snapped)


def test_without_its_snapshot_a_ledger_is_read_from_the_beginning(snapped: Path) -> None:
    before = Ledger.inspect(snapped).balance("patients")
    rows(snapped, "DELETE FROM snapshots")
    assert Ledger.inspect(snapped).balance("patients") == before
    rows(snapped, "DROP TABLE snapshots")
    assert Ledger.inspect(snapped).balance("patients") == before


def test_a_snapshot_that_says_less_than_the_events_is_found_by_whoever_reads_them(snapped: Path) -> None:
    """By somebody who knows the code, may write the file, and writes a new end of the chain."""
    less = str(rows(snapped, "SELECT content FROM snapshots")[0][0]).replace('"pure":"2"', '"pure":"1"')
    (last,) = rows(snapped, "SELECT number, seal FROM events ORDER BY number DESC LIMIT 1")
    text = canonical({"at": "2026-01-01T00:00:00+00:00", "digest": digest_of(less), "event": "snapshot"})
    with closing(sqlite3.connect(snapped, isolation_level=None)) as connection:
        number = int(str(last[0])) + 1
        connection.execute("INSERT INTO events VALUES (?, ?, ?)", (number, text, seal(str(last[1]), text)))
        connection.execute("INSERT INTO snapshots VALUES (?, ?)", (number, less))
    book = Ledger.inspect(snapped)
    with pytest.raises(LedgerError, match="its event 13 was changed"):
        book.entries  # noqa: B018  (as `coterie ledger check` and `show` do)


def test_no_snapshot_while_a_release_is_under_way(
    path: Path, purpose: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_EVENTS_PER_SNAPSHOT", 1)
    with Ledger.open(path) as ledger, ledger.charge(purpose()):
        before = Ledger.inspect(path).snapshot_at
        Ledger.open(path).close()
        assert Ledger.inspect(path).snapshot_at == before
    Ledger.open(path).close()
    assert Ledger.inspect(path).snapshot_at > before


def test_a_kill_in_the_middle_leaves_the_ledger_as_it_was(
    path: Path, tmp_path: Path, purpose: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    releases(path, tmp_path, purpose, "ab")
    before = rows(path, "SELECT * FROM events")
    monkeypatch.setattr(storage, "_EVENTS_PER_SNAPSHOT", 1)
    monkeypatch.setattr(storage, "_SNAPSHOTS", "SELECT no_such_function()")
    with pytest.raises(LedgerError):
        Ledger.open(path)
    assert rows(path, "SELECT * FROM events") == before
    assert rows(path, "PRAGMA user_version") == [(2,)]
    assert Storage.open(path).book().balance("patients").spent == 2
