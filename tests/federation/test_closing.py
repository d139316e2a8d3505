"""A study that has ended is told of until the owner closes it, and not for ever."""

from __future__ import annotations

from typing import Any

import pytest
from federation_world import Look, people, until

from coterie.federation.owner import contribution
from coterie.federation.owner.client import AnswerFault


def told(shared: Any, home: Any) -> list[str]:
    with shared.client(home, session="") as client:
        return [wanted["id"] for wanted in client.get("/v1/desired?after=&wait=0")["studies"]]


def look(shared: Any, *homes: Any) -> None:
    for home in homes:
        Look(shared, home).once()


def test_a_released_study_is_closed_by_those_who_hold_their_copy(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [shared.join(name) for name in ("close-a", "close-b")]
    for number, home in enumerate(homes):
        shared.give(home, people(30, number))
    study = shared.study(["close-a", "close-b"])

    def released() -> bool:
        look(shared, *homes)
        return bool(shared.shown(study)["state"] == "RELEASED")

    copied = contribution.copied
    monkeypatch.setattr(contribution, "copied", lambda home, study: False)  # the copy does not arrive
    until(released, "the release")
    look(shared, *homes)
    assert told(shared, homes[0]) == [study.id], "not closed while the copy is not here"
    monkeypatch.setattr(contribution, "copied", copied)
    look(shared, homes[0])
    assert told(shared, homes[0]) == []
    assert told(shared, homes[1]) == [study.id], "the other owner has not closed it"
    closed = [line for line in shared.diary("closed") if line["study"] == study.id]
    assert [line["owner"] for line in closed] == ["close-a"]
    assert homes[0].journal.seen()[study.id]["state"] == "RELEASED", "it can still be looked at"
    again = Look(shared, homes[0])
    with again.client:
        contribution.fetch_release(homes[0], again.client, study.id)  # and fetched
        again.agent.run(until_done=True)  # there is nothing left to wait for


def test_closing_before_the_end_twice_or_by_a_stranger(shared: Any) -> None:
    homes = [shared.join(name) for name in ("early-a", "early-b", "early-c")]
    shared.give(homes[0], people(30, 1))
    study = shared.study(["early-a", "early-b"])
    place = f"/v1/studies/{study.id}/closed"
    with shared.client(homes[0], "session-of-early-a-here") as client:
        with pytest.raises(AnswerFault, match="has not ended"):
            client.post(place)
        assert told(shared, homes[0]) == [study.id]
        homes[0].journal.decide(study.id, {"decision": "refuse", "reason": "no ethics vote"})
        look(shared, homes[0])
        shared.await_state_any(study)
        for _ in range(2):
            assert client.post(place) == {"state": "FAILED"}
    assert len([line for line in shared.diary("closed") if line["study"] == study.id]) == 1
    assert told(shared, homes[0]) == []
    with shared.client(homes[2], "session-of-early-c-here") as client, pytest.raises(AnswerFault) as caught:
        client.post(place)
    assert "not found" in str(caught.value).lower() or "no such" in str(caught.value).lower()


def test_an_aggregator_that_does_not_know_the_word_is_asked_once(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [shared.join(name) for name in ("older-a", "older-b")]
    study = shared.study(["older-a", "older-b"])
    homes[0].journal.decide(study.id, {"decision": "refuse", "reason": "no"})
    look(shared, homes[0])
    shared.await_state_any(study)
    asked: list[str] = []

    def unknown(client: Any, study: str) -> bool:
        asked.append(study)
        return False

    monkeypatch.setattr(contribution, "close", unknown)
    one = Look(shared, homes[0])
    with one.client:
        for _ in range(3):
            one.agent.run(once=True)
    assert asked == [study.id]
