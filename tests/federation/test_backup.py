"""Copies taken while everything runs; and what comes of the one who is put back to one of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from federation_world import world
from simulated_year import Year

from coterie.federation.aggregator import scheduler
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.scheduler import advance_studies
from coterie.federation.backup import backup_aggregator, backup_owner, restore_aggregator, restore_owner
from coterie.federation.errors import FederationError
from coterie.federation.owner.contribution import HELD, hold_in_ledger
from coterie.federation.storage.parties import entries
from coterie.federation.storage.studies import study_row
from coterie.publication.ledger import Ledger, loss_event
from coterie.table.digest import file_sha256
from postgres import new_database


@pytest.fixture
def year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Year]:
    made = Year(tmp_path, monkeypatch, owners=2)
    try:
        yield made
    finally:
        made.close()


def study_of(year: Year, **changes: Any) -> Any:
    return year.world.study(
        sorted(year.folders), **{"k": 3, "epsilon": "0.5", "deadline": "5 days", **changes}
    )


def state(year: Year, study: Any) -> Any:
    with year.aggregator.database.reading() as connection:
        return study_row(connection, study.id)


def half_delivered(year: Year) -> None:
    """Both agree; then only the first goes on."""
    for away in ("owner-1", "owner-0", "owner-1"):
        year.away = {away}
        year.look()


def back_to(year: Year, backup: Path) -> None:
    year.aggregator.database.close()
    shutil.rmtree(year.aggregator.folder)
    restore_aggregator(backup, year.aggregator.folder, None)
    year.reopen()


def test_a_restored_aggregator_releases_the_same_bytes(
    year: Year, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All keys were there, and nobody had the release yet: it is made again, in the same order of rows."""
    study = study_of(year)
    with monkeypatch.context() as still:
        still.setattr(scheduler, "_open", lambda *_: False)
        year.rounds(4)
    backup_aggregator(year.aggregator, tmp_path / "backup")
    with pytest.raises(FederationError, match="cannot be made"):
        backup_aggregator(year.aggregator, tmp_path / "backup")
    while advance_studies(year.aggregator):
        pass
    first = file_sha256(year.aggregator.release(study.id))
    back_to(year, tmp_path / "backup")
    assert not year.aggregator.release(study.id).exists()
    while advance_studies(year.aggregator):
        pass
    assert file_sha256(year.aggregator.release(study.id)) == first == state(year, study).release_sha256
    year.look()
    year.check()
    with year.aggregator.database.reading() as connection:
        assert [line for line in entries(connection) if line["event"] == "restored"]


def test_owners_show_a_forgotten_release(year: Year, tmp_path: Path) -> None:
    """No second release under the name of the first, not even of fewer owners."""
    study = study_of(year, minimum=2)
    year.look()
    backup_aggregator(year.aggregator, tmp_path / "backup")
    year.rounds(4)
    assert state(year, study).state == "RELEASED"
    back_to(year, tmp_path / "backup")
    year.look()
    found = state(year, study)
    assert (found.state, "released before" in found.reason) == ("FAILED", True)
    year.check()


def test_held_epsilon_is_in_the_ledger_and_in_the_backup(year: Year, tmp_path: Path, coterie: Any) -> None:
    study = study_of(year)
    name, (folder, *_) = "owner-0", year.folders.values()
    half_delivered(year)
    held = {"held": "1", "remaining": "199"}  # individual: twice the ε of replace-one
    _, shown, _ = coterie("owner", "ledger", "--home", folder, "--json")
    account = shown["populations"][0]
    assert {key: account["individual"][key] for key in held} == held
    backup_owner(year.home(name), tmp_path / "backup")
    year.away = set()
    year.rounds(3)
    assert study.id in year.spent[name]
    shutil.rmtree(folder)
    restore_owner(tmp_path / "backup", folder)
    assert Ledger.inspect(folder / "ledger.sqlite").balance("people").individual_held > 0
    year.look()
    assert (name, "rolled back") in year.said
    year.check()  # charged once
    assert not Ledger.inspect(folder / "ledger.sqlite").balance("people").individual_held


def test_an_earlier_versions_hold_is_entered(year: Year) -> None:
    """It stood in the study's folder alone, and `coterie ledger` did not know it."""
    study = study_of(year)
    half_delivered(year)
    home = year.home("owner-0")
    with Ledger.open(home.default_ledger) as ledger:
        held = ledger.book().held(study.id)
        assert held is not None
        ledger.give_back(study.id)
        given = held.purpose
    event = {
        "event": "reserved", "release": "held for study", "population": given.population,
        "loss": loss_event(given.loss), "method": given.method, "status": given.status, "target": given.target,
        "fingerprint": given.fingerprint, "at": "",
    }  # fmt: skip
    path = home.study(study.id) / HELD
    path.write_text(json.dumps({"ledger": str(home.default_ledger), "event": event}))
    hold_in_ledger(home)
    again = Ledger.inspect(home.default_ledger).held(study.id)
    assert again is not None
    assert again.purpose == given
    year.away.clear()
    year.rounds(3)
    year.check()
    assert not path.exists()


@pytest.mark.database
def test_from_postgresql_and_back(postgres_url: str, postgres_server: str, tmp_path: Path) -> None:
    with world(tmp_path, postgres_url) as made:
        made.invitation("somebody")
        backup_aggregator(made.aggregator, tmp_path / "backup")
        with closing(Aggregator.open(tmp_path / "backup")) as copy:
            assert "sqlite" in copy.database.shown
            with copy.database.reading() as connection:
                assert [line["event"] for line in entries(connection)][-1] == "invited"
        with pytest.raises(FederationError, match="not empty"):
            restore_aggregator(tmp_path / "backup", tmp_path / "again", postgres_url)
    restore_aggregator(tmp_path / "backup", tmp_path / "restored", new_database(postgres_server))
    with closing(Aggregator.open(tmp_path / "restored")) as back, back.database.reading() as connection:
        assert "postgresql" in back.database.shown
        assert [line["event"] for line in entries(connection)][-1] == "restored"
