"""Processes at once cannot overspend, and a process that keeps the ledger too long is named."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from coterie.errors import LedgerError
from coterie.publication.ledger import Ledger, Purpose, ReleaseState, storage

HERE = Path(__file__).parent


@pytest.mark.parametrize(("racers", "epsilon", "winners"), [(2, "6", 1), (10, "2.5", 4), (6, "10/3", 3)])
def test_racing_processes_never_pass_the_lifetime(
    path: Path, racers: int, epsilon: str, winners: int
) -> None:
    gate = path.parent / "gate"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])}
    processes = [
        subprocess.Popen(
            [sys.executable, str(HERE / "ledger_racer.py"), str(path), f"racer{number}", epsilon, str(gate)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(racers)
    ]
    while sum(1 for _ in path.parent.glob("*.here")) < racers:
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    gate.touch()
    said = [process.communicate()[0].strip() for process in processes]

    book = Ledger.inspect(path)
    assert said.count("released") == winners
    assert said.count("refused") == racers - winners
    assert sorted(entry.state for entry in book.entries.values()) == [ReleaseState.RELEASED] * winners
    assert book.balance("patients").spent <= 10
    assert len(list(path.parent.glob("*.csv"))) == winners
    assert list(path.parent.glob(".*")) == []


def test_a_ledger_kept_by_another_process_is_refused_in_words(
    path: Path, purpose: Callable[..., Purpose], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other, Ledger.open(path) as ledger:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="is locked") as told, ledger.charge(purpose()):
            pytest.fail("the block of a refused charge must not run")
        assert "Nothing was charged" in told.value.advice
        with pytest.raises(LedgerError, match="is locked"):
            Ledger.open(path)
        other.execute("ROLLBACK")
        assert ledger.book().entries == {}
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_a_ledger_locked_at_the_wrong_moment_gives_back_later(
    path: Path, purpose: Callable[..., Purpose], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ε of a failed release cannot be given back while the ledger is locked; opening it later does."""
    monkeypatch.setattr(storage, "WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        with Ledger.open(path) as ledger, ledger.charge(purpose()):
            other.execute("BEGIN IMMEDIATE")
        assert Ledger.inspect(path).balance("patients").held == 1
        other.execute("ROLLBACK")
    with Ledger.open(path) as ledger:
        assert [recovered.entry.state for recovered in ledger.recovered] == [ReleaseState.ABANDONED]
        assert ledger.balance("patients").remaining == 10
