"""A journal: releases that no ledger counts are drawn once as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import coterie
from coterie.errors import OutputError, ParameterError
from coterie.publication import engine_runs
from coterie.publication.ledger import Ledger, ReleaseState

POPULATION, SCHEMA = coterie.demo_population(people=50), coterie.demo_schema()


def published(folder: Path, name: str = "out.csv", **chosen: Any) -> coterie.Written:
    given: dict[str, Any] = {"method": "laplace", "epsilon": 1, **chosen}
    return coterie.publish(POPULATION, SCHEMA, folder / name, **given)


def test_what_is_refused_is_not_drawn_and_every_release_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, drawn, protect = tmp_path / "journal.sqlite", [], engine_runs.protect_table

    def counted(*given: Any, **named: Any) -> Any:
        drawn.append(named["method"].name)
        return protect(*given, **named)

    monkeypatch.setattr(engine_runs, "protect_table", counted)
    published(tmp_path, journal=journal, request="a")
    with pytest.raises(OutputError, match="exists already"):
        published(tmp_path, journal=journal, request="a")
    assert drawn == ["laplace"]
    published(tmp_path, "other.csv", journal=journal, request="b")
    published(tmp_path, "groups.csv", journal=journal, method="mdav", epsilon=None, k=5)  # no ε describes it
    assert drawn == ["laplace", "laplace", "mdav"]
    with Ledger.open(journal) as book:
        entries = book.book().releases()
    assert [entry.state for entry in entries] == [ReleaseState.RELEASED] * 3
    assert [entry.purpose.fingerprint for entry in entries][:2] == ["a", "b"]
    assert coterie.verify(tmp_path / "groups.csv").certificate.method == "mdav"


def test_a_ledger_and_a_journal_exclude_each_other(tmp_path: Path) -> None:
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", 10)
    with pytest.raises(ParameterError, match="ledger or noted in a journal"):
        published(
            tmp_path,
            ledger=tmp_path / "ledger.sqlite",
            population="people",
            journal=tmp_path / "journal.sqlite",
        )
    assert not (tmp_path / "out.csv").exists()


def test_a_mark_of_ones_own_is_found_in_the_ledger(tmp_path: Path) -> None:
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", 10)
    published(tmp_path, ledger=tmp_path / "ledger.sqlite", population="people", request="mine")
    assert [e.purpose.fingerprint for e in Ledger.inspect(tmp_path / "ledger.sqlite").releases()] == ["mine"]
