"""An event that was changed, removed, moved or added by another hand is found by every opening."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_staged_file import StagedFile

from coterie.errors import LedgerError
from coterie.publication.ledger import Ledger, Purpose
from coterie.publication.ledger.seals import GENESIS, canonical, decoded, seal, sealed


@pytest.fixture
def used(path: Path, tmp_path: Path, purpose: Callable[..., Purpose]) -> Path:
    with Ledger.open(path) as ledger:
        for number in range(2):
            with ledger.charge(purpose("4")) as charge:
                charge.publish([StagedFile.write(tmp_path / f"{number}.csv", b"a")])
    return path


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER IF EXISTS no_update")
        connection.execute("DROP TRIGGER IF EXISTS no_delete")
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    "statement", ["UPDATE events SET content = '{}'", "DELETE FROM events WHERE number = 3"]
)
def test_an_honest_hand_is_stopped_by_the_database(used: Path, statement: str) -> None:
    with (
        closing(sqlite3.connect(used)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="events are final"),
    ):
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("UPDATE events SET content = replace(content, '\"10\"', '\"99\"') WHERE number = 2", 2),
        ("UPDATE events SET content = replace(content, '\"4\"', '\"1\"') WHERE number = 3", 3),
        ("UPDATE events SET seal = upper(seal) WHERE number = 4", 4),
        ("DELETE FROM events WHERE number = 4", 4),
        ("UPDATE events SET number = -number WHERE number = 3", 1),
        ("INSERT INTO events SELECT 9, content, seal FROM events WHERE number = 8", 9),
        ("UPDATE events SET content = x'ff' WHERE number = 2", 2),
    ],
)
def test_a_changed_event_is_named(used: Path, statement: str, number: int) -> None:
    alter(used, statement)
    for action in (Ledger.open, Ledger.inspect):
        with pytest.raises(LedgerError, match=f"its event {number} was changed"):
            action(used)


def test_a_cut_tail_is_shown_by_a_seal_noted_elsewhere(used: Path) -> None:
    """The chain alone cannot miss its own end; that is what `ledger check --seal` is for."""
    noted = Ledger.inspect(used).seal
    alter(used, "DELETE FROM events WHERE number > 5")
    assert noted not in Ledger.inspect(used).seals


def forged(path: Path, **changes: object) -> None:
    """Add an event with a correct seal, as someone who knows the code could."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        number, last = connection.execute("SELECT number, seal FROM events ORDER BY number DESC").fetchone()
        text = canonical({"at": "2026-01-01T00:00:00+00:00", **changes})
        connection.execute("INSERT INTO events VALUES (?, ?, ?)", (number + 1, text, seal(last, text)))


PLAIN = {
    "event": "reserved",
    "release": "f" * 32,
    "method": "m",
    "status": "s",
    "target": "t",
    "fingerprint": "",
}


@pytest.mark.parametrize(
    "event",
    [
        {**PLAIN, "population": "patients", "epsilon": "2.1"},  # 8 of 10 are spent
        {**PLAIN, "population": "nobody", "epsilon": "1"},
        {**PLAIN, "population": "patients", "epsilon": "-1"},
        {**PLAIN, "population": "patients"},
        {"event": "population", "population": "patients", "lifetime": "99"},
        {"event": "released", "release": "f" * 32},
        {"event": "refund", "release": "f" * 32},
    ],
)
def test_an_event_that_cannot_have_happened_is_refused(used: Path, event: dict[str, object]) -> None:
    forged(used, **event)
    with pytest.raises(LedgerError, match="its event 9 was changed"):
        Ledger.open(used)


def test_a_released_epsilon_cannot_be_given_back(used: Path) -> None:
    release = next(iter(Ledger.inspect(used).entries))
    forged(used, event="abandoned", release=release)
    with pytest.raises(LedgerError, match="its event 9 was changed"):
        Ledger.open(used)


def test_a_forged_but_possible_event_is_not_mistaken_for_damage(used: Path) -> None:
    """So that the refusals above are for the stated reason."""
    forged(used, **PLAIN, population="patients", epsilon="2")
    assert Ledger.inspect(used).balance("patients").remaining == 0


_events = st.lists(
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), min_size=1), min_size=2, max_size=6
)


@given(events=_events, data=st.data())
def test_any_change_of_any_event_breaks_the_chain(events: list[dict[str, str]], data: st.DataObject) -> None:
    rows, last = [], GENESIS
    for number, event in enumerate(events, start=1):
        text = canonical(event)
        last = seal(last, text)
        rows.append((number, text, last))
    assert [event for event, _ in decoded(sealed(rows))] == events
    place = data.draw(st.integers(0, len(rows) - 1))
    other = data.draw(
        st.dictionaries(st.text(max_size=5), st.text(max_size=5)).filter(lambda d: d != events[place])
    )
    rows[place] = (rows[place][0], json.dumps(other), rows[place][2])
    with pytest.raises(LedgerError, match=f"event {place + 1} "):
        list(decoded(sealed(rows)))
