"""How studies end when not everybody takes part: deadlines, too small an overlap, withdrawal, cancelling."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow.parquet as pq
import pytest
from federation_world import Look, people, until

from coterie.federation.aggregator import scheduler
from coterie.federation.documents.wire import now
from coterie.publication.ledger import Ledger


def serve_until(world: Any, study: Any, homes: list[Any]) -> dict[str, Any]:
    """Let these owners look again and again, until the study has ended."""

    def round_() -> Any:
        for home in homes:
            Look(world, home).once()
        shown = world.shown(study)
        return shown if shown["state"] in ("RELEASED", "FAILED", "EXPIRED", "CANCELLED") else None

    return dict(until(round_, "the study to end"))


def at_the_deadline(world: Any, monkeypatch: pytest.MonkeyPatch, looks: int = 2) -> None:
    """Two hours later, without waiting for them: what the aggregator does then."""
    monkeypatch.setattr(scheduler, "now", lambda: now() + timedelta(hours=2))
    for _ in range(looks):
        scheduler.advance_studies(world.aggregator)


def test_a_silent_owner_lets_the_study_expire(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [shared.join(name) for name in ("expire-a", "expire-b")]
    shared.give(homes[0], people(30, 1))
    study = shared.study(["expire-a", "expire-b"])
    Look(shared, homes[0]).once()
    assert shared.shown(study)["state"] == "PUBLISHED"
    at_the_deadline(shared, monkeypatch)
    assert shared.shown(study)["state"] == "EXPIRED"
    assert not Ledger.inspect(homes[0].default_ledger).entries, "nobody computed, so nobody paid"


@pytest.mark.parametrize(
    ("at_deadline", "end"), [("go on with the minimum", "RELEASED"), ("expire", "EXPIRED")]
)
def test_or_it_goes_on_with_the_minimum(
    shared: Any, monkeypatch: pytest.MonkeyPatch, at_deadline: str, end: str
) -> None:
    word = end.lower()
    homes = [shared.join(f"{word}-{letter}") for letter in "abc"]
    for home in homes[:2]:
        shared.give(home, people(30, 1))
    study = shared.study([home.owner for home in homes], minimum=2, at_deadline=at_deadline)

    def both_delivered() -> bool:
        for home in homes[:2]:
            Look(shared, home).once()
        return [part["state"] for part in shared.shown(study)["owners"]] == [
            "DELIVERED",
            "DELIVERED",
            "INVITED",
        ]

    until(both_delivered, "two deliveries")
    assert shared.shown(study)["state"] == "COLLECTING"
    at_the_deadline(shared, monkeypatch, looks=1 if end == "RELEASED" else 2)
    if end == "RELEASED":
        for home in homes[:2]:
            Look(shared, home).once()  # now they give the keys of their parts
        shared.await_state(study, end)
    assert shared.shown(study)["state"] == end
    if end == "RELEASED":
        certificate = shared.certificate(study)
        assert certificate.absent == (f"{word}-c",)
        # Nobody signed that the people are disjoint, so the epsilons add up.
        assert (certificate.epsilon, "Σ ε_j" in certificate.rule) == ("2", True)
        assert pq.read_table(shared.aggregator.release(study.id)).num_rows == 60


def test_an_overlap_smaller_than_k(shared: Any) -> None:
    homes = [shared.join(name) for name in ("overlap-a", "overlap-b")]
    shared.give(homes[0], people(30, 1).select(["patient", "age"]))
    shared.give(homes[1], people(30, 1, first=26).select(["patient", "stay", "ward"]))  # four in common
    study = shared.study(
        {"overlap-a": ["age"], "overlap-b": ["stay", "ward"]},
        fragmentation="vertical",
        identifier="patient",
        lead="overlap-a",
    )
    shown = serve_until(shared, study, homes)
    assert shown["state"] == "FAILED"
    assert "fewer people than k" in shown["reason"]
    assert not any(character.isdigit() for character in shown["reason"]), "the size is not published"
    assert not shared.aggregator.release(study.id).exists()
    until(lambda: not (shared.aggregator.folder / "chunks" / study.id).exists(), "the parts to be forgotten")


def test_an_owner_who_leaves_takes_back_what_it_did_not_deliver(shared: Any) -> None:
    from coterie.federation.errors import NotAccepted

    homes = [shared.join(name) for name in ("leave-a", "leave-b")]
    shared.give(homes[0], people(30, 1))
    study = shared.study(["leave-a", "leave-b"])
    Look(shared, homes[0]).once()
    with shared.client(homes[0], "session-of-leave-a-here") as client:
        client.post("/v1/leave")
    shown = shared.await_state_any(study)
    assert shown["state"] == "FAILED"
    assert shared.part(study, "leave-a")["state"] == "WITHDRAWN"
    try:
        Look(shared, homes[0]).once()
    except NotAccepted:
        return
    raise AssertionError("a key that has left was accepted")
