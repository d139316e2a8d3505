"""A person's word: a slip is told to the person first, a mind may be changed in time, and nobody pays for nothing."""

from __future__ import annotations

import threading
import time
from typing import Any

import pyarrow as pa
import pytest
from federation_world import Look, charged, people, until

from coterie.federation.documents.states import StudyState
from coterie.federation.errors import Conflict, Refused, Unreachable
from coterie.federation.owner import agent, contribution
from coterie.federation.owner.approval import note_approval, note_refusal
from coterie.federation.owner.policy import UNFIT, OwnerSource
from coterie.federation.storage.studies import move_study, study_row
from coterie.publication.ledger import Ledger


def joined(world: Any, *names: str) -> list[Any]:
    homes = [world.join(name) for name in names]
    for number, home in enumerate(homes):
        world.give(home, people(30, number))
    return homes


def wanted(home: Any, study: Any) -> dict[str, Any]:
    return dict(home.journal.seen()[study.id])


def test_a_slip_is_told_to_the_person_and_not_to_the_others(shared: Any) -> None:
    [home, _] = joined(shared, "slip-a", "slip-b")
    path = home.folder / "people.parquet"
    home.policy_file.unlink()
    study = shared.study(["slip-a", "slip-b"])
    Look(shared, home).once()
    for source, problem in (
        (OwnerSource(data="/nothing/there.csv", population="people"), "/nothing/there.csv"),
        (OwnerSource(data=str(path), population="nobody"), "no population"),
        (OwnerSource(data=str(path), population="people", columns={"age": "years"}), "no column 'years'"),
    ):
        with pytest.raises(Refused) as raised:
            note_approval(home, wanted(home, study), source)
        assert problem in raised.value.problem
        assert raised.value.exit_code == 17
    Look(shared, home).once()
    assert shared.part(study, "slip-a")["state"] == "INVITED", "nothing was said"
    note_approval(home, wanted(home, study), OwnerSource(data=str(path), population="people"))
    Look(shared, home).once()
    assert shared.part(study, "slip-a")["state"] == "APPROVED"


def test_in_which_row_stays_here(shared: Any) -> None:
    [home, _] = joined(shared, "row-a", "row-b")
    table = people(30, 1)
    ages = [None if place == 16 else 40 for place in range(30)]
    shared.give(home, table.set_column(1, "age", pa.array(ages)))
    study = shared.study(["row-a", "row-b"])
    [(event, _, text)] = Look(shared, home).once()
    assert (event, "row 17" in text) == ("refused", True), "the owner must find it"
    assert shared.part(study, "row-a")["reason"] == UNFIT


def test_an_approval_can_be_taken_back(shared: Any) -> None:
    [home, _] = joined(shared, "back-a", "back-b")
    study = shared.study(["back-a", "back-b"])
    Look(shared, home).once()
    assert shared.part(study, "back-a")["state"] == "APPROVED"
    note_refusal(home, wanted(home, study), "changed our mind")
    Look(shared, home).once()
    part = shared.part(study, "back-a")
    assert (part["state"], part["reason"]) == ("REFUSED", "changed our mind")
    assert not Ledger.inspect(home.default_ledger).entries
    shared.await_state_any(study)
    Look(shared, home).once()
    with pytest.raises(Conflict, match="too late to decide"):
        note_refusal(home, wanted(home, study), "once more")


def test_a_protected_part_is_withdrawn(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = joined(shared, "drawn-a", "drawn-b")
    study = shared.study(["drawn-a", "drawn-b"])

    def cut(*_: Any) -> None:
        raise Unreachable("cut", "")

    here, sleep = threading.current_thread(), time.sleep

    def interrupted(seconds: float) -> None:
        if threading.current_thread() is here:  # the aggregator's threads sleep too
            raise KeyboardInterrupt
        sleep(seconds)

    def computed() -> bool:
        for home in homes:
            with monkeypatch.context() as patched:
                patched.setattr(contribution, "deliver", cut)
                patched.setattr(agent.time, "sleep", interrupted)
                try:
                    Look(shared, home).once()
                except KeyboardInterrupt:
                    continue
        return bool(shared.part(study, "drawn-a")["state"] == "COMPUTED")

    until(computed, "the noise to be drawn")
    note_refusal(homes[0], wanted(homes[0], study), "changed our mind")
    said = Look(shared, homes[0]).once()
    assert [event for event, _, _ in said] == ["withdrawn", "given back"]
    assert not charged(homes[0]), "nobody could read it, so nobody paid"
    assert shared.part(study, "drawn-a")["state"] == "WITHDRAWN"
    assert shared.await_state_any(study)["state"] == "FAILED"


def test_a_study_that_ends_while_the_table_is_read_costs_nothing(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = joined(shared, "ends-a", "ends-b")
    study = shared.study(["ends-a", "ends-b"])
    for home in homes:
        Look(shared, home).once()
    shared.await_state(study, "COLLECTING")
    reading = agent.prepare_table

    def slowly(*arguments: Any) -> Any:
        with shared.aggregator.database.writing() as connection:
            row = study_row(connection, study.id)
            assert row is not None
            move_study(connection, row, StudyState.CANCELLED)
        return reading(*arguments)

    monkeypatch.setattr(agent, "prepare_table", slowly)
    said = Look(shared, homes[0]).once()
    assert [event for event, _, _ in said] == ["declined"]
    entries = Ledger.inspect(homes[0].default_ledger).entries.values()
    assert not any(entry.state.charged for entry in entries)
    assert not list(homes[0].study(study.id).glob("chunk-*"))


def test_a_study_that_waits_is_told_of_once(shared: Any) -> None:
    [home, _] = joined(shared, "patient-a", "patient-b")
    home.policy_file.unlink()
    shared.study(["patient-a", "patient-b"])
    look = Look(shared, home)
    with look.client:
        for _ in range(3):
            look.agent.run(once=True)
    assert [event for event, _, _ in look.said] == ["waiting"]


def test_a_refusal_that_is_not_heard_is_not_repeated_without_end(shared: Any) -> None:
    [home, _] = joined(shared, "unheard-a", "unheard-b")
    study = shared.study(["unheard-a", "unheard-b"])
    with shared.client(home, session="") as client:
        content = client.get("/v1/desired?after=&wait=0")
    content["studies"][0]["study"]["document"]["k"] = 4  # tampered, whatever we answer
    look = Look(shared, home)
    with look.client:
        assert not look.agent.round(content), "said, so look again at once"
        assert look.agent.round(content), "nothing more to do"
    assert [event for event, _, _ in look.said] == ["refused"]
    assert len([entry for entry in home.journal.diary() if entry["event"] == "refused"]) == 1
    assert shared.part(study, "unheard-a")["state"] == "REFUSED"
