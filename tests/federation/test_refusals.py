"""What an owner refuses, and what it says: over a real connection, signed, without a value of the data."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from federation_world import ATTRIBUTES, Look, people
from lying_aggregator import lying

from coterie.federation.documents.certificate import part_promise
from coterie.federation.documents.messages import Answer
from coterie.federation.documents.signed import Signed, canonical, sha256, signed_from
from coterie.federation.documents.wire import now, stamp
from coterie.federation.storage.studies import contributions_of
from coterie.publication.ledger import Ledger

_numbers = count()
SECRET = 87.125  # a value of the data that must not turn up anywhere


@pytest.fixture
def pair(shared: Any) -> Any:
    """Two owners who have just joined."""
    number = next(_numbers)
    return [shared.join(f"refusal-{letter}-{number}") for letter in "ab"]


def refused(world: Any, home: Any, study: Any, **options: Any) -> Answer:
    """One look of the agent, which must end in a signed refusal that the aggregator holds."""
    Look(world, home, **options).once()
    with world.aggregator.database.reading() as connection:
        part = next(p for p in contributions_of(connection, study.id) if p.name == home.owner)
    assert part.state == "REFUSED"
    answer = part.opened_answer(study)
    assert answer.told == part.reason
    assert Ledger.inspect(home.default_ledger).balance("people").spent == 0
    assert not Ledger.inspect(home.default_ledger).entries, "nothing was reserved"
    assert str(SECRET) not in world.aggregator.folder.joinpath("..", "server.log").read_text()
    assert str(SECRET) not in str(answer)
    return answer


def names(pair: Any) -> list[str]:
    return [home.owner for home in pair]


def test_over_budget(shared: Any) -> None:
    home, other = shared.join("poor", lifetime="0.5"), shared.join("rich")
    shared.give(home, people(30, 1))
    study = shared.study([home.owner, other.owner])
    answer = refused(shared, home, study)
    assert "budget" in (answer.reason or "")
    assert answer.figures == {"requested": "2", "remaining": "0.5", "limit": "0.5"}
    told = shared.part(study, answer.owner)["reason"]
    assert "requested 2, remaining 0.5, limit 0.5" in told, "the administrator sees the figures too"


@pytest.mark.parametrize(
    ("policy", "change", "word", "figures"),
    [
        ({"minimum_k": 8}, {}, "k is too small", {"requested": "5", "limit": "8"}),
        ({"maximum_k": 4}, {"k": 6}, "k is larger than", {"requested": "6", "limit": "4"}),
        ({"maximum_epsilon": "0.1"}, {}, "above the policy", {"requested": "1", "limit": "0.1"}),
        (
            {"methods": ["dp-mdav"]},
            {"method": "dp-mdav"},
            "above the policy",
            {"requested": "3", "limit": "2"},  # three attributes, each of them the whole epsilon
        ),
        ({"attributes": ["age", "ward"]}, {}, "'stay'", {}),
        ({"methods": ["dp-ir"]}, {}, "'idp-ls'", {"limit": "dp-ir"}),
        ({"aggregators": ["SHA256:somebody-else"]}, {}, "aggregator's key", {}),
        ({}, {"seed": 7}, "seed", {}),
        ({"population": "nobody"}, {}, "ledger does not allow", {}),
        ({"attributes": [*ATTRIBUTES]}, {}, "declares possible for 'age', 'stay', 'ward'", {}),
    ],
)
def test_against_the_policy(
    shared: Any, pair: Any, policy: Any, change: Any, word: str, figures: Any
) -> None:
    shared.give(pair[0], people(30, 1), **policy)
    answer = refused(shared, pair[0], shared.study(names(pair), **change))
    assert word in (answer.reason or "")
    assert answer.figures == figures


def test_nobody_decided_and_no_policy(shared: Any, pair: Any) -> None:
    study = shared.study(names(pair))
    assert [word for word, _, _ in Look(shared, pair[0]).once()] == ["waiting"]
    assert shared.part(study, pair[0].owner)["state"] == "INVITED"
    answer = refused(shared, pair[0], study, unattended=True)
    assert "no policy" in (answer.reason or "")


def test_a_person_refuses(shared: Any, pair: Any) -> None:
    study = shared.study(names(pair))
    pair[0].journal.decide(study.id, {"decision": "refuse", "reason": "no ethics vote"})
    assert refused(shared, pair[0], study).reason == "no ethics vote"
    # The study cannot reach its minimum any more, and says so.
    shown = shared.await_state_any(study)
    assert (shown["state"], pair[0].owner in shown["reason"]) == ("FAILED", True)


def vertical(shared: Any, pair: Any, **changes: Any) -> Any:
    holds = {pair[0].owner: ["age", "ward"], pair[1].owner: ["stay"]}
    return shared.study(holds, fragmentation="vertical", identifier="patient", lead=pair[0].owner, **changes)


def offer(world: Any, home: Any, study: Any, attributes: tuple[str, ...]) -> None:
    answer = Answer(
        study=study.id,
        owner=home.owner,
        decision="approve",
        attributes=attributes,
        promise=part_promise(study, home.owner, 30),
        at=stamp(now()),
    )
    with world.client(home) as client:
        client.post(f"/v1/studies/{study.id}/answer", Signed.of(answer, home.keys).content())


def test_horizontal_attributes_that_differ(shared: Any, pair: Any) -> None:
    study = shared.study(names(pair))
    offer(shared, pair[0], study, tuple(ATTRIBUTES))
    offer(shared, pair[1], study, ("age", "stay"))
    shown = shared.await_state_any(study)
    assert shown["state"] == "FAILED"
    assert "'ward'" in shown["reason"]


def test_vertical_attributes_that_overlap(shared: Any, pair: Any) -> None:
    study = vertical(shared, pair)
    offer(shared, pair[0], study, ("age", "ward"))
    offer(shared, pair[1], study, ("stay", "ward"))
    shown = shared.await_state_any(study)
    assert shown["state"] == "FAILED"
    assert "'ward' is offered by" in shown["reason"]


def forged(study: Any, forger: Any, **changes: Any) -> tuple[str, dict[str, Any]]:
    document = {**study.content(), **changes}
    signature = forger.keys.sign("study", canonical(document))
    return sha256(canonical(document)), {
        "document": document,
        "key": forger.keys.public,
        "signature": signature,
    }


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "NaN"}, "epsilon"),
        ({"epsilon": "1.0"}, "epsilon"),
        ({"k": 2}, "k:"),
        ({"unheard_of": "field"}, "unheard_of"),
        ({"method": "no-such-method"}, "method"),
        ({"protocol": 4}, "protocol"),
        ({"roster": []}, "roster"),
    ],
)
def test_studies_that_say_something_impossible(shared: Any, pair: Any, changes: Any, word: str) -> None:
    """Signed by the right aggregator, with the right hash: and still nothing to agree to."""
    name, envelope = forged(shared.study(names(pair)), shared.aggregator, **changes)
    assert word in (_refusal_of(shared, pair[0], name, envelope).reason or "")


def test_studies_that_were_tampered_with(shared: Any, pair: Any) -> None:
    study = shared.study(names(pair))
    _, envelope = forged(study, shared.aggregator, epsilon="2")
    answer = _refusal_of(shared, pair[0], study.id, envelope)
    assert "does not have the hash" in (answer.reason or "")
    signed = Signed.of(study, shared.aggregator.keys).content()
    signed["document"]["epsilon"] = "2"
    assert "signature" in (_refusal_of(shared, pair[0], study.id, signed).reason or "")
    stranger = forged(study, shared.aggregator, aggregator=pair[1].keys.public)
    assert "another aggregator" in (_refusal_of(shared, pair[0], *stranger).reason or "")
    roster = [{**entry.content(), "sealing_key": pair[1].keys.public} for entry in study.roster]
    swapped = forged(study, shared.aggregator, roster=roster)
    assert "its own keys" in (_refusal_of(shared, pair[0], *swapped).reason or "")


def _refusal_of(shared: Any, home: Any, name: str, envelope: dict[str, Any]) -> Answer:
    shared.give(home, people(30, 1))
    with lying(shared.aggregator.folder, shared.aggregator.keys) as lies:
        wanted = {"id": name, "study": envelope, "state": "PUBLISHED", "contribution": "INVITED"}
        rest = dict.fromkeys(("reason", "contribution_reason", "group_key", "receipt", "release"))
        lies.desired = {"version": "1" * 32, "owner": home.owner, "studies": [{**rest, **wanted}]}
        Look(shared, home, lies.url).once()
    [(path, content)] = lies.posted
    assert path == f"/v1/studies/{name}/answer"
    return signed_from(canonical(content)).opened(Answer, key=home.keys.public)
