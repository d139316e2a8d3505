"""An owner approves, waits until the others have delivered, and withdraws. The others have spent nothing."""

from __future__ import annotations

from typing import Any

import pytest
from federation_world import Look, charged, people

from coterie.federation.documents.messages import Delivery
from coterie.federation.documents.signed import Signed, validated
from coterie.federation.errors import FederationError
from coterie.federation.owner import answering
from coterie.federation.owner.approval import note_refusal
from coterie.federation.owner.client import AnswerFault
from coterie.federation.owner.contribution import KEY, SECRET, held_studies
from coterie.federation.owner.policy import OwnerSource, Refusal
from coterie.publication.ledger import Ledger
from coterie.schema.exact import as_text


def delivered(world: Any, name: str, **changes: Any) -> tuple[Any, Any, Any]:
    """The honest owner has delivered its sealed part; the other has only approved."""
    honest, other = world.join(f"{name}-a"), world.join(f"{name}-b")
    for home in (honest, other):
        world.give(home, people(40, 3))
    study = world.study([honest.owner, other.owner], **changes)
    for home in (honest, other):
        Look(world, home).once()
    world.await_state(study, "COLLECTING")
    Look(world, honest).once()
    assert world.part(study, honest.owner)["state"] == "DELIVERED"
    return study, honest, other


def test_who_withdraws_late_costs_the_others_nothing(shared: Any) -> None:
    study, honest, other = delivered(shared, "burn")
    assert study.id in held_studies(honest)
    assert not charged(honest), "nothing is charged while nobody can read it"
    note_refusal(other, other.journal.seen()[study.id], "changed our mind")
    Look(shared, other).once()
    assert shared.await_state_any(study)["state"] == "FAILED"
    said = Look(shared, honest).once()
    assert ("given back", study.id) in [words[:2] for words in said]
    folder = honest.study(study.id)
    assert not charged(honest)
    assert not (folder / SECRET).exists(), (
        "the key is destroyed: what the aggregator may have kept stays unreadable"
    )
    assert study.id not in held_studies(honest)


def test_what_the_aggregator_holds_is_unreadable(shared: Any) -> None:
    study, honest, _ = delivered(shared, "sealed")
    [chunk] = shared.aggregator.folder.glob(f"chunks/{study.id}/*/00000.parquet")
    assert b"PAR1" not in chunk.read_bytes()
    [home_chunk] = honest.study(study.id).glob("chunk-*.parquet")
    assert home_chunk.read_bytes() == chunk.read_bytes()


def test_held_budget_is_not_promised_twice(shared: Any) -> None:
    study, honest, other = delivered(shared, "held")
    source = validated(OwnerSource, honest.journal.decision(study.id)["source"])
    answering.require_budget(honest, study, source)
    left = Ledger.inspect(honest.default_ledger).balance("people").individual_remaining
    again = shared.study([honest.owner, other.owner], title="again", epsilon=as_text(left + 1))
    with pytest.raises(Refusal, match="lifetime budget"):
        answering.require_budget(honest, again, source)


def test_a_lying_aggregator_gets_no_key(shared: Any) -> None:
    """It says that all have delivered, and has only the word of one."""
    study, honest, other = delivered(shared, "liar")
    own = Signed.of(Delivery(study=study.id, owner=honest.owner, manifest="0" * 64), honest.keys)
    forged = Signed.of(Delivery(study=study.id, owner=other.owner, manifest="0" * 64), shared.aggregator.keys)
    with pytest.raises(FederationError, match="before enough owners"):
        answering.require_deliveries(honest, study, [own.content(), own.content()])
    with pytest.raises(FederationError, match="signature"):
        answering.require_deliveries(honest, study, [own.content(), forged.content()])
    assert not (honest.study(study.id) / KEY).exists()


def test_an_honest_aggregator_takes_no_key_too_early(shared: Any) -> None:
    study, honest, _ = delivered(shared, "too-early")
    secret = (honest.study(study.id) / SECRET).read_bytes()
    with (
        shared.client(honest, f"session-of-{honest.owner}-here") as client,
        pytest.raises(AnswerFault) as fault,
    ):
        client.put(f"/v1/studies/{study.id}/part-key", secret)
    assert fault.value.status == 409


def test_all_deliver_and_each_is_charged_once(shared: Any) -> None:
    study, honest, other = delivered(shared, "fair")
    Look(shared, other).once()
    shared.await_opening(study)
    for home in (honest, other):
        Look(shared, home).once()
        assert charged(home) == [study.id]
        assert study.id not in held_studies(home)
    shared.await_state(study, "RELEASED")
