"""An aggregator that asks for older rules, for ε without end, or for money that was never spent; and owners who go."""

from __future__ import annotations

from typing import Any

import pytest
from federation_world import Look, charged, people

from coterie.federation.aggregator.administration import remove, suspend
from coterie.federation.aggregator.scheduler import advance_studies
from coterie.federation.documents.messages import Manifest
from coterie.federation.documents.signed import Signed
from coterie.federation.errors import Conflict, FederationError
from coterie.federation.owner.approval import note_refusal
from coterie.federation.owner.contribution import KEY, SECRET, held_studies
from coterie.federation.owner.rollback import RolledBack, recover
from coterie.federation.secrets.keys import Keys
from coterie.publication.ledger import Ledger


def pair(world: Any, name: str, **policy: Any) -> list[Any]:
    homes = [world.join(f"{name}-{letter}") for letter in "ab"]
    for home in homes:
        world.give(home, people(40, 2), **policy)
    return homes


def look(world: Any, *homes: Any) -> list[tuple[str, str | None, str]]:
    return [said for home in homes for said in Look(world, home).once()]


def delivered(world: Any, homes: list[Any], **changes: Any) -> Any:
    """Both have approved; the first has delivered."""
    study = world.study([home.owner for home in homes], **changes)
    look(world, *homes)
    world.await_state(study, "COLLECTING")
    look(world, homes[0])
    assert world.part(study, homes[0].owner)["state"] == "DELIVERED"
    return study


def test_older_rules_are_refused(shared: Any) -> None:
    """Before protocol 3 a part can be read, and is charged, before the others have delivered."""
    homes = pair(shared, "downgrade")
    study = shared.study([home.owner for home in homes], protocol=2)
    look(shared, homes[0])
    told = shared.part(study, homes[0].owner)
    assert (told["state"], told["reason"]) == (
        "REFUSED",
        "the study does not seal the parts until all owners have delivered",
    )
    assert not homes[0].journal.noted("table opened")


def test_a_deadline_beyond_all_use_is_refused(shared: Any) -> None:
    homes = pair(shared, "for-ever")
    study = shared.study([home.owner for home in homes], deadline="36500 days")
    look(shared, homes[0])
    assert shared.part(study, homes[0].owner)["reason"] == (
        "the deadline is further off than the policy allows, in days (requested 36500, limit 100)"
    )


def test_a_delivered_part_can_be_taken_back(shared: Any) -> None:
    """Nobody can read it yet, and its ε is held: an aggregator that never goes on must not keep it."""
    homes = pair(shared, "takes-back")
    study = delivered(shared, homes)
    note_refusal(homes[0], homes[0].journal.seen()[study.id], "it takes too long")
    said = [event for event, _, _ in look(shared, homes[0])]
    assert said == ["withdrawn", "given back"]
    assert shared.part(study, homes[0].owner)["state"] == "WITHDRAWN"
    assert study.id not in held_studies(homes[0])
    assert not (homes[0].study(study.id) / SECRET).exists()


def test_not_when_the_others_open_theirs(shared: Any) -> None:
    homes = pair(shared, "too-late")
    study = delivered(shared, homes)
    look(shared, homes[1])
    shared.await_opening(study)
    look(shared, homes[1])
    seen = {**homes[0].journal.seen()[study.id], "opening": [{}]}
    with pytest.raises(Conflict, match="too late to refuse"):
        note_refusal(homes[0], seen, "now")
    with (
        shared.client(homes[0], f"session-of-{homes[0].owner}-here") as client,
        pytest.raises(FederationError),
    ):
        client.post(f"/v1/studies/{study.id}/progress", {"state": "WITHDRAWN"})
    look(shared, homes[0])
    shared.await_state(study, "RELEASED")


def test_who_is_removed_or_suspended_does_not_burn_the_others(shared: Any) -> None:
    """Its part is there, but it could not give the key: the others are not asked for theirs."""
    homes = pair(shared, "removed")
    study = delivered(shared, homes)
    with shared.aggregator.database.writing() as connection:
        remove(connection, homes[0].owner)
    look(shared, homes[1])
    assert shared.await_state_any(study)["state"] == "FAILED"
    assert not charged(homes[1])
    homes = pair(shared, "suspended")
    study = delivered(shared, homes)
    with shared.aggregator.database.writing() as connection:
        suspend(connection, homes[0].owner, suspended=True)
    look(shared, homes[1])
    for _ in range(3):
        advance_studies(shared.aggregator)
    look(shared, homes[1])
    assert not charged(homes[1])
    with shared.aggregator.database.writing() as connection:
        suspend(connection, homes[0].owner, suspended=False)
    shared.await_opening(study)
    look(shared, *homes)
    shared.await_state(study, "RELEASED")


def test_nobody_is_told_what_it_has_spent_without_its_own_hand(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restore an owner charges again what the aggregator names: only what it had signed itself."""
    homes = pair(shared, "forged")
    study = shared.study([home.owner for home in homes])
    chunk = {"sha256": "0" * 64, "size": 1, "rows": 40}
    made_up = Manifest(study=study.id, owner=homes[0].owner, chunks=(chunk,), certificate="")
    forged = Signed.of(made_up, Keys.generate()).content()
    told = {"id": study.id, "study": Signed.of(study, shared.aggregator.keys).content()}
    with shared.client(homes[0], f"session-of-{homes[0].owner}-here") as client:
        monkeypatch.setattr(client, "get", lambda target: {"studies": [{**told, "manifest": forged}]})
        with pytest.raises(FederationError, match="signature"):
            recover(homes[0], client, "people")
    assert not Ledger.inspect(homes[0].default_ledger).entries


def test_a_folder_restored_to_just_before_its_key_left(shared: Any) -> None:
    """The aggregator has the key of a part, and the ledger does not know it: nothing is given back, nothing goes on."""
    homes = pair(shared, "just-before")
    study = delivered(shared, homes)
    look(shared, homes[1])
    shared.await_opening(study)
    look(shared, *homes)
    shared.await_state(study, "RELEASED")
    (homes[0].study(study.id) / KEY).unlink()
    with pytest.raises(RolledBack, match="the key of a part"):
        look(shared, homes[0])
