"""A killed owner, a wrong clock, a request that came twice, a name that had left: all of them pass by themselves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from federation_world import Look

from coterie.federation.documents import wire
from coterie.federation.errors import Conflict, FederationError, NotAccepted
from coterie.federation.owner import agent as agents
from coterie.federation.owner.client import ClockOff


class Patience(Exception):
    """Ends an agent that would go on."""


def waits(agent: Any, monkeypatch: pytest.MonkeyPatch, faults: list[Exception | None]) -> list[str]:
    """What a running agent says while its requests meet these faults, one after the other."""
    told = iter(faults)

    def get(target: str, *, patience: float = 0, diary: str = "", seen: str = "") -> Any:
        fault = next(told, Patience())
        if fault is not None:
            raise fault
        return {"version": "0" * 32, "owner": agent.home.owner, "studies": []}

    said: list[str] = []
    monkeypatch.setattr(agent.client, "get", get)
    monkeypatch.setattr(agents.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(agent, "say", lambda event, study, text: said.append(f"{event}: {text}"))
    with pytest.raises(Patience):
        agent.run()
    return said


def test_killed_before_it_was_heard(shared: Any) -> None:
    """Twice: the aggregator knows the first process, the folder only the last."""
    home = shared.join("killed-twice")
    sessions = []
    for heard in (True, False, False, True):
        with home.running() as (session, earlier):
            sessions.append(session)
            if heard:
                with shared.client(home, session, earlier) as client:
                    client.get("/v1/desired?after=&wait=0")
    assert earlier.split(",") == sessions[2::-1]
    home.acknowledged(sessions[-1])
    with home.running() as (_, earlier):
        assert earlier == sessions[-1]
    with shared.client(home, "a-process-that-nobody-named") as stranger, pytest.raises(Conflict) as refused:
        stranger.get("/v1/desired?after=&wait=0")
    assert "leave" not in refused.value.advice, "no advice that destroys an identity"


def test_a_running_owner_waits(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Look(shared, shared.join("waits-its-turn")).agent
    clock, busy = ClockOff("This clock is off.", "Set it."), Conflict("Another process acts.", "Wait.")
    twice = NotAccepted("The aggregator does not accept this owner's requests.", "Ask.")
    said = waits(agent, monkeypatch, [clock] * 8 + [None] + [busy] * 8 + [None] + [twice] * 4 + [None])
    assert len(said) == 20
    assert all(line.startswith("waiting: ") and "Next try in" in line for line in said)
    assert len(agent.home.journal.noted("turned away")) == 3, "once for each trouble, not at each attempt"


def test_who_is_never_accepted_stops(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Look(shared, shared.join("stranger")).agent
    with pytest.raises(NotAccepted):
        waits(agent, monkeypatch, [NotAccepted("The aggregator does not accept this.", "Ask.")] * 5)


def test_a_clock_that_is_five_minutes_fast(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    home = shared.join("fast-clock")
    true_now = wire.now
    with shared.client(home) as client:
        monkeypatch.setattr(wire, "now", lambda: true_now() + timedelta(minutes=5))
        with pytest.raises(ClockOff, match="This clock says"):
            client.get("/v1/desired?after=&wait=0")
        monkeypatch.setattr(wire, "now", true_now)
        client.get("/v1/desired?after=&wait=0")


def test_a_name_that_has_left_comes_back(shared: Any, coterie: Any) -> None:
    folder, first = shared.aggregator.folder, shared.join("prodigal")
    code, _, wrong = coterie("aggregator", "invite", folder, "prodigal", "--json")
    assert (code, wrong["problem"]) == (11, "There is an owner 'prodigal' already.")
    with shared.client(first, "a-session-of-the-first") as client:
        client.post("/v1/leave")
    _, invitation, _ = coterie("aggregator", "invite", folder, "prodigal", "--json")
    code, joined, _ = coterie(
        "owner", "join", invitation["invitation"], "--home", shared.root / "prodigal-again", "--json"
    )
    assert (code, joined["owner"]) == (0, "prodigal")
    with shared.client(first) as client, pytest.raises(NotAccepted):
        client.get("/v1/desired?after=&wait=0")
    code, _, _ = coterie("owner", "inspect", "--home", shared.root / "prodigal-again", "--json")
    assert code == 0


def test_a_name_in_use_is_not_given_twice(shared: Any) -> None:
    shared.join("taken")
    with pytest.raises(FederationError, match="used or has expired"):
        shared.join("taken-by-another", invitation=shared.invitation("taken"))
