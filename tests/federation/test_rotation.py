"""New signing keys of the aggregator and of owners: studies under way are finished, and nobody is left behind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from federation_world import ATTRIBUTES, Look, people

from coterie.federation.aggregator.home import Aggregator
from coterie.federation.documents.certificate import verified
from coterie.federation.documents.messages import NewKeys
from coterie.federation.documents.signed import Signed, signed_from
from coterie.federation.errors import FederationError, NotAccepted, Untrusted
from coterie.federation.owner.agent import Agent
from coterie.federation.owner.home import OwnerHome
from coterie.federation.secrets.keys import (
    FORMER,
    NEXT,
    Keys,
    current_keys,
    fingerprint,
    keep_private,
    next_keys,
    use_next_keys,
    write_private,
)
from coterie.publication.ledger import Ledger


def look(world: Any, *homes: Any) -> None:
    """As a process that is started anew."""
    for home in homes:
        opened = OwnerHome.open(home.folder)
        with opened.running() as (session, earlier), world.client(opened, session, earlier) as client:
            Agent(opened, client, lambda *words: None).run(once=True)


def take_new_keys(world: Any, home: OwnerHome, new: Keys) -> None:
    said = NewKeys(old=home.keys.public, new=new.public, sealing_key=new.sealing_public)
    with home.running() as (session, earlier), world.client(home, session, earlier) as client:
        client.post("/v1/keys", Signed.of(said, new).content())


def finish(world: Any, study: Any, *homes: Any) -> None:
    look(world, *homes)
    world.await_opening(study)
    look(world, *homes)
    world.await_state(study, "RELEASED")
    look(world, *homes)


def rotate_aggregator(world: Any, coterie: Any) -> tuple[str, str]:
    world.kill_server()
    code, told, _ = coterie("aggregator", "rotate", "key", world.aggregator.folder, "--json")
    assert code == 0
    world.aggregator.close()
    world.aggregator = Aggregator.open(world.aggregator.folder)
    world.serve()
    return told["followed"], told["key"]


def test_the_aggregator_has_a_new_key(federation: Any, coterie: Any) -> None:
    homes = [federation.join(name) for name in ("key-a", "key-b")]
    for home in homes:
        federation.give(home, people(40, 1))
    study = federation.study(["key-a", "key-b"])
    look(federation, *homes)
    federation.await_state(study, "COLLECTING")
    code, _, wrong = coterie("aggregator", "rotate", "key", federation.aggregator.folder, "--json")
    assert (code, wrong["error"]) == (16, "Conflict"), "not while it serves"
    old, new = rotate_aggregator(federation, coterie)
    rotate_aggregator(federation, coterie)  # twice, before anybody has followed
    finish(federation, study, *homes)
    held = signed_from((homes[0].study(study.id) / "release.certificate.json").read_bytes())
    assert fingerprint(held.key) == old == fingerprint(study.aggregator), "by the key that the study names"
    verified(held, study.aggregator)
    assert len(OwnerHome.open(homes[0].folder).aggregators) == 3
    # A policy that names the first key goes on with the one that it signed.
    later = federation.study(["key-a", "key-b"], title="under the new key")
    assert fingerprint(later.aggregator) not in (old, new)
    look(federation, *homes)
    federation.await_state(later, "COLLECTING")
    finish(federation, later, *homes)
    for home in homes:
        assert len(Ledger.inspect(home.default_ledger).entries) == 2
        assert not OwnerHome.open(home.folder).journal.noted("aggregator rolled back")


def test_a_key_that_nobody_signed_is_not_followed(federation: Any, coterie: Any) -> None:
    home = federation.join("careful")
    rotate_aggregator(federation, coterie)
    path = federation.aggregator.folder / "successions.json"
    [entry] = json.loads(path.read_bytes())
    path.write_text(json.dumps([{**entry, "signature": Keys.generate().sign("succession", b"")}]))
    with pytest.raises(FederationError, match="signature"):
        look(federation, home)
    path.write_text("[]")
    with pytest.raises(Untrusted):
        look(federation, home)
    assert len(home.aggregators) == 1


def test_an_owner_has_new_keys(shared: Any, coterie: Any) -> None:
    homes = [shared.join(name) for name in ("renews", "keeps")]
    shared.give(homes[0], people(40, 1).select(["patient", "age"]))
    shared.give(homes[1], people(40, 1).select(["patient", "stay"]))
    content = {
        "fragmentation": "vertical",
        "identifier": "patient",
        "lead": "keeps",
        "attributes": {name: entry for name, entry in ATTRIBUTES.items() if name != "ward"},
    }
    study = shared.study({"renews": ["age"], "keeps": ["stay"]}, **content)
    look(shared, *homes, homes[1])  # the lead makes the group key when it has approved
    shared.await_state(study, "COLLECTING")
    code, told, _ = coterie("owner", "rotate", "--home", homes[0].folder, "--json")
    assert code == 0
    # The peer pins the new keys; the study that it approved with the old ones goes on.
    coterie("owner", "trust", "renews", told["fingerprint"], "--home", homes[1].folder, "--json")
    with pytest.raises(NotAccepted):
        Look(shared, homes[0]).once()  # the old keys, in this process
    finish(shared, study, *homes)
    later = shared.study({"renews": ["age"], "keeps": ["stay"]}, pinned=False, **content, title="later")
    look(shared, *homes, homes[1])
    shared.await_state(later, "COLLECTING")
    finish(shared, later, *homes)
    again = OwnerHome.open(homes[0].folder)
    assert (again.witness(1), again.keys.public != homes[0].keys.public) == (homes[0].witness(1), True)


def test_a_change_of_keys_is_cut_off_anywhere(shared: Any, coterie: Any) -> None:
    home = shared.join("renews-twice")
    # The aggregator has taken the new keys, and its answer was lost.
    new = next_keys(home.folder)
    assert next_keys(home.folder).public == new.public, "made once"
    take_new_keys(shared, home, new)
    assert coterie("owner", "rotate", "--home", home.folder, "--json")[0] == 0
    look(shared, home)
    # Marked, and killed before both files were in place.
    home = OwnerHome.open(home.folder)
    new = next_keys(home.folder)
    take_new_keys(shared, home, new)
    waiting = {path.name: path.read_bytes() for path in (home.folder / NEXT).iterdir()}
    before = (home.folder / "sealing.pem").read_bytes()
    use_next_keys(home.folder, home.keys)
    (home.folder / NEXT).mkdir()
    for name, content in {**waiting, "accepted": b""}.items():
        write_private(home.folder / NEXT / name, content)
    keep_private(home.folder / "sealing.pem", before)
    assert current_keys(home.folder).sealing_public == new.sealing_public
    look(shared, home)
    assert len(list((home.folder / FORMER).iterdir())) == 2
