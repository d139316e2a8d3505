"""How studies end when not everybody takes part: deadlines, too small an overlap, withdrawal, cancelling."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
from world import Look, people, until

from coterie.ledger import Ledger


def serve_until(world: Any, study: Any, homes: list[Any]) -> dict[str, Any]:
    """Let these owners look again and again, until the study has ended."""
    def round_() -> Any:
        for home in homes:
            Look(world, home).once()
        shown = world.shown(study)
        return shown if shown["state"] in ("RELEASED", "FAILED", "EXPIRED", "CANCELLED") else None

    return dict(until(round_, "the study to end"))


def test_a_silent_owner_lets_the_study_expire(shared: Any) -> None:
    homes = [shared.join(name) for name in ("expire-a", "expire-b")]
    shared.give(homes[0], people(30, 1))
    study = shared.study(["expire-a", "expire-b"], deadline="3 seconds")
    shown = serve_until(shared, study, homes[:1])
    assert shown["state"] == "EXPIRED"
    assert not Ledger.inspect(homes[0].default_ledger).entries, "nobody computed, so nobody paid"


def test_or_it_goes_on_with_the_minimum(shared: Any) -> None:
    homes = [shared.join(name) for name in ("minimum-a", "minimum-b", "minimum-c")]
    for home in homes[:2]:
        shared.give(home, people(30, 1))
    study = shared.study(
        [home.owner for home in homes], minimum=2, deadline="12 seconds", at_deadline="go on with the minimum"
    )
    shown = serve_until(shared, study, homes[:2])
    assert shown["state"] == "RELEASED", shown
    [part] = [part for part in shown["owners"] if part["owner"] == "minimum-c"]
    assert part["state"] == "INVITED"
    row = shared.certificate(study)
    assert row.absent == ("minimum-c",)
    # Nobody signed that the people are disjoint, so the epsilons add up.
    assert (row.epsilon, "Σ ε_j" in row.rule) == ("2", True)
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

