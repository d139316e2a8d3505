"""An open ledger checks each event once; whatever another hand does to the file meanwhile is found at the next step."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from copy import deepcopy
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_staged_file import StagedFile

from coterie.errors import BudgetExceeded, LedgerError
from coterie.promise.loss import Loss
from coterie.publication.ledger import Book, Ledger, Purpose, storage
from coterie.publication.ledger import seals as chain
from coterie.publication.ledger.account import LedgerAccount, Terms
from coterie.publication.ledger.storage import Storage

Make = Callable[..., Purpose]


@pytest.fixture
def used(path: Path, tmp_path: Path, purpose: Make) -> Path:
    """Events 1 and 2 make the population, 3 to 14 are four releases."""
    with Ledger.open(path) as ledger:
        for number in range(4):
            release(ledger, purpose(), tmp_path / f"{number}.csv")
    return path


def release(ledger: Ledger, purpose: Purpose, target: Path) -> None:
    with ledger.charge(purpose) as charge:
        charge.publish([StagedFile.write(target, b"a")])


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in ("DROP TRIGGER no_update", "DROP TRIGGER no_delete", *statements):
            connection.execute(statement)


def test_a_release_checks_the_past_once(
    used: Path, tmp_path: Path, purpose: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each of its steps: that was nine times, and it is what a long ledger costs."""
    checked: list[int] = []

    def counted(previous: str, content: str) -> str:
        checked.append(1)
        return sealed(previous, content)

    sealed = chain.seal
    monkeypatch.setattr(chain, "seal", counted)
    with Ledger.open(used) as ledger:
        assert len(checked) == 14
        wanted = purpose()
        assert ledger.pending(wanted.population, wanted.target) is None
        ledger.book().afford(wanted)
        release(ledger, wanted, tmp_path / "new.csv")
        assert ledger.balance("patients").spent == 5
    assert len(checked) == 14 + 3


DAMAGE = {
    "changed": ("UPDATE events SET content = replace(content, '\"1\"', '\"2\"') WHERE number = 6", 6),
    "removed": ("DELETE FROM events WHERE number = 5", 5),
    "removed first": ("DELETE FROM events WHERE number = 1", 1),
    "resealed": ("UPDATE events SET seal = upper(seal) WHERE number = 14", 14),
    "added": ("INSERT INTO events SELECT 15, content, seal FROM events WHERE number = 14", 15),
    "added before": ("INSERT INTO events SELECT -9, content, seal FROM events WHERE number = 14", 1),
    "exchanged": (
        "UPDATE events SET content = (SELECT content FROM events AS other WHERE other.number = 17 - events.number),"
        " seal = (SELECT seal FROM events AS other WHERE other.number = 17 - events.number) WHERE number IN (8, 9)",
        8,
    ),
}


@pytest.mark.parametrize(("statement", "number"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_by_another_connection_is_found_at_every_next_step(
    used: Path, purpose: Make, statement: str, number: int
) -> None:
    steps: list[Callable[[Ledger], object]] = [
        Ledger.book,
        lambda ledger: ledger.balance("patients"),
        lambda ledger: ledger.charge(purpose()).__enter__(),
        lambda ledger: ledger.pending("patients", "out.csv"),
    ]
    with Ledger.open(used) as ledger:
        assert ledger.balance("patients").spent == 4
        alter(used, statement)
        for step in (*steps, *steps):  # and again: what was found unsound is never taken for known
            with pytest.raises(LedgerError, match=f"its event {number} was changed"):
                step(ledger)


def test_damage_during_a_release_stops_it_before_it_is_charged(
    used: Path, tmp_path: Path, purpose: Make
) -> None:
    target = tmp_path / "new.csv"
    staged = StagedFile.write(target, b"a")
    with Ledger.open(used) as ledger, ledger.charge(purpose()) as charge:
        alter(used, DAMAGE["changed"][0])
        with pytest.raises(LedgerError, match="its event 6 was changed"):
            charge.publish([staged])
    assert not target.exists()


def test_bytes_written_past_sqlite_are_found_at_the_next_step(used: Path) -> None:
    """SQLite does not count such a change; the time of the file tells it."""
    with Ledger.open(used) as ledger:
        spent = ledger.balance("patients").spent
        content = used.read_bytes()
        assert content.count(b'"lifetime":"10"') == 1
        time.sleep(0.05)  # the clock of a file system ticks every few milliseconds
        with used.open("r+b") as stream:
            stream.seek(content.index(b'"lifetime":"10"'))
            stream.write(b'"lifetime":"99"')
        with pytest.raises(LedgerError, match="its event 2 was changed"):
            ledger.balance("patients")
    assert spent == 4


def test_a_ledger_that_is_removed_while_open_takes_no_charge(used: Path, purpose: Make) -> None:
    with Ledger.open(used) as ledger:
        used.rename(used.with_name("elsewhere.sqlite"))
        with pytest.raises(LedgerError, match="There is no ledger at"), ledger.charge(purpose()):
            pytest.fail("the block of a refused charge must not run")
    assert Ledger.inspect(used.with_name("elsewhere.sqlite")).balance("patients").held == 0


def test_what_others_charge_is_seen_at_once(used: Path, tmp_path: Path, purpose: Make) -> None:
    with Ledger.open(used) as one, Ledger.open(used) as other:
        release(one, purpose("3"), tmp_path / "one.csv")
        assert other.balance("patients").spent == 7
        with pytest.raises(LedgerError, match="has epsilon 3 left"), other.charge(purpose("4")):
            pytest.fail("the block of a refused charge must not run")
        with other.charge(purpose("2")):
            assert one.balance("patients").held == 2
        assert one.balance("patients") == other.balance("patients")


def test_what_is_rolled_back_is_forgotten(used: Path) -> None:
    opened = Storage.open(used)
    with suppress(ZeroDivisionError), opened.transaction():
        opened.append("population", population="staff", lifetime="1")
        assert "staff" in opened.book().lifetimes
        raise ZeroDivisionError
    assert "staff" not in opened.book().lifetimes
    with opened.transaction():
        opened.append("population", population="students", lifetime="1")
    assert list(opened.book().lifetimes) == ["patients", "students"]
    opened.close()


def test_a_book_that_was_handed_out_stays_as_it_was(used: Path, tmp_path: Path, purpose: Make) -> None:
    with Ledger.open(used) as ledger:
        before = ledger.book()
        release(ledger, purpose("5"), tmp_path / "new.csv")
        assert (before.balance("patients").spent, before.events, len(before.entries)) == (4, 14, 4)
        assert (ledger.balance("patients").spent, ledger.book().events) == (9, 17)


def test_step_by_step_and_from_the_beginning_say_the_same(path: Path, tmp_path: Path, purpose: Make) -> None:
    with Ledger.open(path) as ledger:
        for number, epsilon in enumerate(("1", "1/3", "0.25", "2/7")):
            with ledger.charge(purpose(epsilon)) as charge:
                charge.staging(tmp_path / "temporary")
                if number != 2:
                    charge.publish([StagedFile.write(tmp_path / f"{number}.csv", b"a")])
            assert content_of(ledger.book()) == content_of(Ledger.inspect(path))
        with ledger.charge(purpose("1/9")):
            assert content_of(ledger.book()) == content_of(Ledger.inspect(path))
            assert [entry.purpose.loss.epsilon for entry in ledger.book().unfinished()] == [Fraction(1, 9)]


def content_of(book: Book) -> tuple[object, ...]:
    return book.seals, book.lifetimes, book.entries, book.balance("patients"), book.unfinished()


_fractions = st.fractions(min_value=Fraction(1, 10**6), max_value=100)


@given(lifetime=_fractions, steps=st.lists(st.tuples(st.sampled_from("hsg"), _fractions), max_size=12))
def test_an_account_adds_as_fractions_do(lifetime: Fraction, steps: list[tuple[str, Fraction]]) -> None:
    account, spent, held = LedgerAccount(Terms("patients", lifetime)), Fraction(0), Fraction(0)
    for kind, epsilon in steps:
        loss = Loss.pure(epsilon)
        if kind == "h" and spent + held + epsilon > lifetime:
            with pytest.raises(BudgetExceeded):
                account.afford(loss)
            with pytest.raises(ValueError):
                deepcopy(account).hold((loss, loss))
        elif kind == "h":
            account.afford(loss)
            account.hold((loss, loss))
            held += epsilon
        elif held >= epsilon:
            (account.spend if kind == "s" else account.give_back)((loss, loss))
            held -= epsilon
            spent += epsilon if kind == "s" else 0
        balance = account.balance()
        assert (balance.lifetime, balance.spent, balance.held) == (lifetime, spent, held)


def test_true_is_not_the_one_that_was_read_before_it(used: Path) -> None:
    """Python takes true for 1, and known texts are remembered."""
    with closing(sqlite3.connect(used, isolation_level=None)) as connection:
        number, last = connection.execute("SELECT number, seal FROM events ORDER BY number DESC").fetchone()
        for text in ('"1"', "1", "true"):
            number += 1
            content = (
                f'{{"at":"","epsilon":{text},"event":"reserved","fingerprint":"","method":"m","population":"patients",'
                f'"release":"{number}","status":"s","target":"t"}}'
            )
            last = chain.seal(last, content)
            connection.execute("INSERT INTO events VALUES (?, ?, ?)", (number, content, last))
    with pytest.raises(LedgerError, match="its event 17 was changed"):
        Ledger.inspect(used)


@pytest.mark.parametrize("content", ['{"event":"ledger","at":""} x', "[]", "{", "", "[" * 100_000])
def test_an_event_that_is_no_object_is_refused_even_when_sealed(used: Path, content: str) -> None:
    with closing(sqlite3.connect(used, isolation_level=None)) as connection:
        number, last = connection.execute("SELECT number, seal FROM events ORDER BY number DESC").fetchone()
        connection.execute(
            "INSERT INTO events VALUES (?, ?, ?)", (number + 1, content, chain.seal(last, content))
        )
    with pytest.raises(LedgerError, match="its event 15 was changed"):
        Ledger.inspect(used)


def test_the_wait_for_a_locked_ledger_is_told_when_looking(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(used, isolation_level=None)) as other, Ledger.open(used) as ledger:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="is locked"):
            ledger.balance("patients")
        other.execute("ROLLBACK")
        assert ledger.balance("patients").spent == 4
