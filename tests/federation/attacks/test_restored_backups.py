"""A folder that was restored from a backup forgets: what was spent, or what was released. The other side remembers."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from federation_world import Look, people

from coterie.federation.aggregator import assembly
from coterie.federation.errors import FederationError
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.rollback import RolledBack, recover, remembered, rolled_back_aggregator
from coterie.publication.ledger import Ledger


def released(world: Any, name: str) -> tuple[Any, list[Any], Any]:
    """One release; a copy of the first owner's folder from before it."""
    homes = [world.join(f"{name}-{letter}") for letter in "ab"]
    for home in homes:
        world.give(home, people(40, 1))
    for home in homes:
        Look(world, home).once()
    backup = world.root / f"{name}-backup"
    shutil.copytree(homes[0].folder, backup)
    study = world.study([home.owner for home in homes])
    for state in ("COLLECTING", None):
        for home in homes:
            Look(world, home).once()
        if state:
            world.await_state(study, state)
    world.await_opening(study)
    for home in homes:
        Look(world, home).once()
    world.await_state(study, "RELEASED")
    for home in homes:
        Look(world, home).once()
    return study, homes, backup


def test_a_restored_owner_stops_and_recovers(shared: Any) -> None:
    study, [home, _], backup = released(shared, "restored")
    spent = Ledger.inspect(home.default_ledger).balance("people").individual_remaining
    shutil.rmtree(home.folder)
    shutil.copytree(backup, home.folder)
    again = OwnerHome.open(home.folder)
    assert not Ledger.inspect(again.default_ledger).entries, "the backup has forgotten"
    with pytest.raises(RolledBack, match="restored from a backup"):
        Look(shared, again).once()
    with shared.client(again, f"session-of-{home.owner}-here") as client:
        assert recover(again, client, "people") == [study.id]
        assert recover(again, client, "people") == [], "charged once"
    assert Ledger.inspect(again.default_ledger).balance("people").individual_remaining == spent
    Look(shared, again).once()
    assert [line["owner"] for line in shared.diary("rolled back") if line["owner"] == home.owner]


def test_a_restored_ledger_is_noticed(shared: Any) -> None:
    _, [home, _], backup = released(shared, "ledger")
    shutil.copy(backup / "ledger.sqlite", home.default_ledger)
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (home.folder / name).unlink(missing_ok=True)
    with pytest.raises(RolledBack, match="knows a later charge"):
        Look(shared, home).once()


def test_a_restored_aggregator_is_noticed(shared: Any) -> None:
    home = shared.join("remembers")

    def back(line: str, **seen: str) -> bool:
        return rolled_back_aggregator(home, {"diary": line, **seen})

    first = f"7:{'a' * 64}"
    assert not back(first)
    assert not back(first, seen=first)
    assert not back(f"9:{'b' * 64}", seen=first)
    assert back(f"8:{'c' * 64}"), "shorter"
    assert back(f"8:{'d' * 64}"), "another"
    assert back(f"20:{'e' * 64}", seen=f"8:{'f' * 64}"), "restored, and grown again since"
    assert len(home.journal.noted("aggregator rolled back")) == 3


def test_the_line_that_an_owner_remembers_is_looked_up(shared: Any) -> None:
    home = shared.join("looks-up")
    Look(shared, home).once()
    known = remembered(home)
    with shared.client(home, f"session-of-{home.owner}-here") as client:
        told = client.get("/v1/desired?after=&wait=0", seen=known.partition(":")[0])
        assert told["seen"] == known
        assert client.get("/v1/desired?after=&wait=0", seen="999999999")["seen"] is None


def test_no_second_release_beside_the_first(shared: Any) -> None:
    """Owners who hold a copy do not serve the study again; and a file with other bytes is not replaced."""
    study, [home, _], _ = released(shared, "second")
    wanted = {**home.journal.seen()[study.id], "state": "COLLECTING", "contribution": "UPLOADING"}
    look = Look(shared, home)
    with look.client:
        assert not look.agent.take(wanted)
    assert [words[0] for words in look.said] == ["rolled back"]
    path = shared.aggregator.release(study.id)
    with pytest.raises(FederationError, match="other bytes"):
        assembly.require_same_release(path, "0" * 64)
