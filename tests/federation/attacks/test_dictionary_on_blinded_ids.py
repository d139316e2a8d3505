"""A sham owner, admitted by the aggregator, blinds every possible id. It learns of nobody whom it was not pinned for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from federation_world import Look, people

from coterie.federation.documents.messages import ExchangeStep
from coterie.federation.owner.client import AnswerFault
from coterie.federation.owner.exchange import Exchange
from coterie.federation.owner.peers import pin_peer
from coterie.publication.ledger import Ledger

ROWS = 40


class Attack:
    """An honest owner and a sham one, in a study with blinded ids."""

    def __init__(self, world: Any, name: str, sham_rows: int, *, pinned: bool = True, **changes: Any) -> None:
        self.world = world
        self.honest, self.sham = world.join(f"{name}-a"), world.join(f"{name}-b")
        world.give(self.honest, people(ROWS, 1).select(["patient", "age"]), blinded=True)
        world.give(self.sham, people(sham_rows, 2).select(["patient", "stay"]), blinded=True, peer_ids=10**6)
        self.begin(pinned=pinned, **changes)

    def begin(self, *, pinned: bool = True, **changes: Any) -> None:
        names = [self.honest.owner, self.sham.owner]
        content = {
            "fragmentation": "vertical",
            "join": "blinded ids",
            "identifier": "patient",
            "attributes": {n: a for n, a in _attributes().items() if n in ("age", "stay")},
        }
        owners = {names[0]: ["age"], names[1]: ["stay"]}
        self.study = self.world.study(owners, pinned=pinned, **{**content, **changes})

    def look(self, *homes: Any) -> None:
        for home in homes:
            Look(self.world, home).once()

    def collecting(self) -> None:
        self.look(self.honest, self.sham)
        self.world.await_state(self.study, "COLLECTING")

    @property
    def told(self) -> str | None:
        return str(self.world.part(self.study, self.honest.owner)["reason"])

    def sent(self, step: str) -> bool:
        return any(self.honest.study(self.study.id).glob(f"{step}-*.json"))


def _attributes() -> dict[str, Any]:
    from federation_world import ATTRIBUTES

    return dict(ATTRIBUTES)


def test_an_unknown_peer_stops_the_study(shared: Any) -> None:
    it = Attack(shared, "unknown", ROWS, pinned=False)
    it.look(it.honest)
    assert it.told == "this owner has not pinned the keys that the roster gives for 'unknown-b'"
    assert not it.sent("committed")


def test_another_sealing_key_is_another_peer(shared: Any) -> None:
    """The aggregator writes the roster: with a sealing key of its own it would read what the peers exchange."""
    it = Attack(shared, "other-key", ROWS, pinned=False)
    pin_peer(it.honest, it.sham.owner, "SHA256:" + "0" * 32)
    it.look(it.honest)
    assert "has not pinned" in str(it.told)


def test_more_ids_than_allowed_end_it_before_any_is_sent(shared: Any) -> None:
    it = Attack(shared, "dictionary", 10 * ROWS)
    it.collecting()
    it.look(it.honest, it.sham, it.honest)
    assert it.told == "the other owner brings more ids than this owner allows"
    assert it.sent("committed")
    assert not it.sent("blinded"), "no id of the honest owner has left, blinded or not"
    assert not Ledger.inspect(it.honest.default_ledger).entries
    [line] = it.honest.journal.noted("peer committed")
    assert (line["ids"], line["most"]) == (10 * ROWS, 2 * ROWS), "the owner's diary has the attempt"


def test_ids_that_were_not_committed_to(shared: Any) -> None:
    """Commit to few, send many."""
    it = Attack(shared, "swap", ROWS)
    it.collecting()
    it.look(it.sham)
    folder = it.sham.study(it.study.id)
    points = (folder / "blinded.points").read_bytes()
    (folder / "blinded.points").write_bytes(points[32:] + points[:32])
    it.look(it.honest, it.sham, it.honest)
    assert it.told == "the other owner's blinded ids are not those that it had committed to"
    assert not it.sent("returned")


def test_whoever_withholds_its_step_gets_nothing(shared: Any) -> None:
    it = Attack(shared, "withhold", ROWS)
    it.collecting()
    it.look(it.honest, it.sham, it.honest)
    # The sham owner sends its blinded ids and stops there; the honest one returns them.
    client = shared.client(it.sham, f"session-of-{it.sham.owner}-here")
    there = {it.honest.owner: {"committed": {"there": 1, "count": 1}}}
    exchange = Exchange(it.sham, client, it.study, None, there)  # type: ignore[arg-type]
    with client:
        points = (it.sham.study(it.study.id) / "blinded.points").read_bytes()
        exchange._send(ExchangeStep.BLINDED, [points], ROWS)
        it.look(it.honest)
        assert it.sent("returned")
        with pytest.raises(AnswerFault) as fault:
            client.get(f"/v1/studies/{it.study.id}/parcels/returned/0")
    assert fault.value.status == 409
    steps = [line["step"] for line in shared.diary("exchanged") if line["study"] == it.study.id]
    assert sorted(steps) == ["blinded", "blinded", "committed", "committed", "returned"]


def test_exchanges_are_counted_and_limited(shared: Any) -> None:
    it = Attack(shared, "often", ROWS)
    policy = it.honest.policy_file
    policy.write_text(policy.read_text() + "exchanges: {most: 1, days: 365}\n")
    it.collecting()
    it.look(it.honest)
    it.begin()
    it.collecting()
    it.look(it.honest)
    assert it.told == "this owner's limit on exchanges of blinded ids is reached (limit 1 in 365 days)"
    assert not it.sent("committed")


def test_the_group_key_is_sealed_to_pinned_owners_only(shared: Any) -> None:
    it = Attack(shared, "group", ROWS, pinned=False, join="group key", lead="group-a")
    it.look(it.honest)
    assert "has not pinned" in str(it.told)
    assert not (it.honest.study(it.study.id) / "group.key").exists()


def test_inspect_shows_what_people_compare(shared: Any, coterie: Any) -> None:
    it = Attack(shared, "compare", ROWS, pinned=False)
    _, theirs, _ = coterie("owner", "inspect", "--home", it.sham.folder, "--json")
    _, ours, _ = coterie("owner", "inspect", "--home", it.honest.folder, "--json")
    [mine], [other] = ours["studies"], theirs["studies"]
    assert mine["peers"] == {"compare-b": f"{other['your_fingerprint']} NOT PINNED"}
    code, _, _ = coterie(
        "owner", "trust", "compare-b", other["your_fingerprint"], "--home", it.honest.folder, "--json"
    )
    assert code == 0
    _, ours, _ = coterie("owner", "inspect", "--home", it.honest.folder, "--json")
    assert ours["studies"][0]["peers"] == {"compare-b": f"{other['your_fingerprint']} pinned"}
    assert json.loads((it.honest.folder / "peers.json").read_text())
