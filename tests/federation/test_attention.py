"""A study at which the aggregator itself fails: tried again a few times, then left for a person, without a value said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from federation_world import Look, people, until

from coterie.federation.aggregator import scheduler
from coterie.federation.documents.wire import now
from coterie.publication.ledger import Ledger


def said(coterie: Callable[..., Any], *words: object) -> tuple[int, Any]:
    code, out, err = coterie(*words, "--json")
    return code, out or err


def spoiled(world: Any, names: tuple[str, str]) -> tuple[Any, list[Any], Path, bytes]:
    """Both owners have delivered, and the aggregator's disk has lost the first one's chunk before it was joined."""
    homes = [world.join(name) for name in names]
    for home in homes:
        world.give(home, people(40, 5), unsealed=True)
    study = world.study([*names], protocol=2)  # the first is accepted before the second delivers
    until(lambda: Look(world, homes[0]).once() is not None and Look(world, homes[1]).once() is not None, "")
    world.await_state(study, "COLLECTING")

    def first_accepted() -> bool:
        Look(world, homes[0]).once()
        return bool(world.part(study, names[0])["state"] == "ACCEPTED")

    until(first_accepted, "the first delivery")
    [chunk] = world.aggregator.folder.glob(f"chunks/{study.id}/*/00000.parquet.checked")
    content = chunk.read_bytes()
    chunk.write_bytes(b"rotten " + content[::-1])
    Look(world, homes[1]).once()
    world.await_state(study, "ASSEMBLING")
    return study, homes, chunk, content


def test_tries_are_counted_and_come_to_an_end(
    federation: Any, monkeypatch: pytest.MonkeyPatch, coterie: Callable[..., Any]
) -> None:
    study, homes, chunk, content = spoiled(federation, ("a", "b"))
    until(lambda: federation.diary("fault"), "the running aggregator's first fault")
    federation.kill_server()
    scheduler.advance_studies(federation.aggregator)
    before = len(federation.diary("fault"))
    assert before < 5, "it waits in between"
    for minutes in range(1, 12):  # as if so much time had passed
        late = now() + timedelta(minutes=minutes)
        monkeypatch.setattr(scheduler, "now", lambda late=late: late)
        scheduler.advance_studies(federation.aggregator)
    faults = federation.diary("fault")
    assert [fault["attempt"] for fault in faults] == [1, 2, 3, 4, 5]
    assert {(fault["kind"], fault["state"]) for fault in faults} == {("FederationError", "ASSEMBLING")}
    assert all(
        fault.keys() <= {"number", "seal", "event", "at", "study", "state", "kind", "attempt"}
        for fault in faults
    )
    shown = federation.shown(study)
    assert shown["state"] == "ASSEMBLING"
    assert "failed 5 times while assembling" in shown["attention"]

    # Restarted, it leaves the study alone; everybody is told; owners are not charged again.
    federation.serve()
    folder = federation.aggregator.folder
    code, wrong = said(
        coterie,
        "aggregator", "study", "release", folder, study.id, "--output", folder / "x.parquet", "--wait", 60,
    )  # fmt: skip
    assert (code, "needs attention" in wrong["problem"]) == (11, True)
    _, inspected = said(coterie, "owner", "inspect", "--home", homes[0].folder)
    assert "study retry" in inspected["studies"][0]["attention"]
    assert len(federation.diary("fault")) == 5

    # The cause is mended, the administrator says so, and the study is finished.
    chunk.write_bytes(content)
    code, found = said(coterie, "aggregator", "study", "retry", folder, study.id[:12])
    assert (code, found["state"]) == (0, "ASSEMBLING")
    assert federation.await_state(study, "RELEASED")["attention"] is None
    code, wrong = said(coterie, "aggregator", "study", "retry", folder, study.id[:12])
    assert (code, "does not wait" in wrong["problem"]) == (16, True)
    for home in homes:
        entries = Ledger.inspect(home.default_ledger).entries.values()
        assert len([entry for entry in entries if entry.state.charged]) == 1


def test_a_stuck_assembly_can_be_given_up(
    federation: Any, monkeypatch: pytest.MonkeyPatch, coterie: Callable[..., Any]
) -> None:
    study, _, _, _ = spoiled(federation, ("c", "d"))
    folder = federation.aggregator.folder
    code, wrong = said(coterie, "aggregator", "study", "cancel", folder, study.id[:12])
    assert (code, wrong["error"]) == (16, "Conflict"), "an assembly that works is not cancelled"
    federation.kill_server()
    for minutes in range(1, 12):
        late = now() + timedelta(minutes=minutes)
        monkeypatch.setattr(scheduler, "now", lambda late=late: late)
        scheduler.advance_studies(federation.aggregator)
    code, found = said(coterie, "aggregator", "study", "cancel", folder, study.id[:12])
    assert (code, found["state"]) == (0, "FAILED")
    monkeypatch.setattr(scheduler, "now", now)
    scheduler.advance_studies(federation.aggregator)
    assert not (folder / "chunks" / study.id).exists()
