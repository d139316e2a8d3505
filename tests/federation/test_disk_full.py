"""Full disks, for real (a small file system in memory): nothing half-written, nothing charged twice, finished later."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from federation_world import PATIENCE, Look, events, people, until

from coterie.federation.errors import FederationError
from coterie.federation.owner import agent as agent_module
from coterie.federation.secrets.keys import write_private
from coterie.publication.ledger import Ledger

Mount = Callable[[Path, str], Path]


@pytest.fixture
def small_disk() -> Iterator[Mount]:
    with ExitStack() as stack:

        def mounted(place: Path, size: str) -> Path:
            place.mkdir(mode=0o700, exist_ok=True)
            words = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "coterie-test", str(place)]
            if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode != 0:
                pytest.skip("mounting a small file system is not allowed here")
            stack.callback(subprocess.run, ["umount", "--lazy", str(place)], check=True)
            return place

        yield mounted


def fill(place: Path, leave: int = 0) -> Path:
    """Take all room but `leave` bytes."""
    filler = place / "filler"
    free = shutil.disk_usage(place).free - leave
    with filler.open("wb", buffering=0) as file:
        if free > 0:
            os.posix_fallocate(file.fileno(), 0, free)
    return filler


def charged(home: Any) -> int:
    return sum(entry.state.charged for entry in Ledger.inspect(home.default_ledger).entries.values())


def released(world: Any, study: Any, homes: list[Any]) -> None:
    def there() -> bool:
        for home in homes:
            Look(world, home).once()
        return bool(world.shown(study)["state"] == "RELEASED")

    until(there, "the release")


def test_the_aggregators_disk_is_full(
    federation: Any, small_disk: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = small_disk(federation.aggregator.folder / "chunks", "256k")
    homes = [federation.join(name) for name in ("a", "b")]
    for home in homes:
        federation.give(home, people(40, 5))
    study = federation.study(["a", "b"])
    for home in homes:
        Look(federation, home).once()
    federation.await_state(study, "COLLECTING")
    filler = fill(place)
    monkeypatch.setattr(agent_module, "backoff", lambda failures: filler.unlink(missing_ok=True) or 0.1)
    said = Look(federation, homes[0]).once()
    assert any(event == "unreachable" and "disk is full" in text for event, _, text in said), said
    assert not filler.exists(), "the pause is when the administrator made room"
    released(federation, study, homes)
    assert [charged(home) for home in homes] == [1, 1]


def test_the_disk_of_the_aggregators_database_is_full(tmp_path: Path, small_disk: Mount) -> None:
    """All of its folder, with a running process: it says so to owners, keeps serving, and goes on when there is room."""
    from federation_world import World

    place = small_disk(tmp_path / "aggregator", "3m")
    made = World(tmp_path)
    try:
        made.serve()
        homes = [made.join(name) for name in ("a", "b")]
        for home in homes:
            made.give(home, people(40, 5))
        study = made.study(["a", "b"])
        filler = fill(place)
        running = [made.run_owner(home, "--until-done") for home in homes]

        def told() -> bool:
            return all(
                any(e["event"] == "unreachable" and "disk is full" in e["text"] for e in events(home))
                for home in homes
                if (home.folder / "run.log").exists()
            )

        until(told, "both owners to hear of it")
        assert made.listening()
        filler.unlink()
        made.await_state(study, "RELEASED")
        assert [process.wait(PATIENCE) for process in running] == [0, 0], made.logs()
        assert [charged(home) for home in homes] == [1, 1]
        log = (tmp_path / "server.log").read_text()
        assert "Traceback" not in log
        complaints = [line for line in log.splitlines() if "disk is full" in line]
        assert complaints, "the administrator finds it in the log"
        assert len(complaints) <= 3 * len({line.split(" ERROR ")[1] for line in complaints}), (
            "not at every attempt"
        )
    finally:
        made.close()


@pytest.mark.parametrize("room", [0, 8, 16])
def test_an_owners_disk_is_full(
    shared: Any, small_disk: Mount, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """With so many KB left the owner comes so far, and no farther until there is room."""
    place = small_disk(shared.root / f"cramped-{room}", "1m")
    homes = [shared.join(name) for name in (f"cramped-{room}", f"roomy-{room}")]
    for home in homes:
        shared.give(home, people(400, 5))
    study = shared.study([f"cramped-{room}", f"roomy-{room}"])
    filler = fill(place, leave=room * 1024)
    stopped: list[str] = []

    def made_room(failures: int) -> float:
        # Whatever it met, nothing of the study is visible that is not whole.
        finished = homes[0].folder / "studies" / study.id / "manifest.json"
        stopped.append("finished" if finished.exists() else "unfinished")
        assert charged(homes[0]) <= 1
        filler.unlink(missing_ok=True)
        return 0.05

    monkeypatch.setattr(agent_module, "backoff", made_room)
    said: list[Any] = []

    def there() -> bool:
        said.extend(Look(shared, homes[0]).once())
        Look(shared, homes[1]).once()
        if any("disk is full" in text for _, _, text in said):
            filler.unlink(missing_ok=True)
        return bool(shared.shown(study)["state"] == "RELEASED")

    until(there, "the release")
    Look(shared, homes[0]).once()
    assert [text for event, _, text in said if event in ("storage", "problem")], said
    assert all("disk is full" in text for event, _, text in said if event in ("storage", "problem")), said
    assert [charged(home) for home in homes] == [1, 1]
    assert [entry.state.value for entry in Ledger.inspect(homes[0].default_ledger).entries.values()][
        -1
    ] == "released"
    left = [path.name for path in (homes[0].folder / "studies" / study.id).iterdir()]
    assert not [name for name in left if name.startswith(".") or name.endswith((".part", ".new", ".tmp"))], (
        left
    )
    assert (homes[0].study(study.id) / "release.parquet").read_bytes() == shared.aggregator.release(
        study.id
    ).read_bytes()
    assert homes[0].journal.first_broken() is None
    assert shared.part(study, f"cramped-{room}")["state"] == "ACCEPTED", "a full disk is no reason to refuse"


def test_joining_on_a_full_disk_can_be_repeated(shared: Any, small_disk: Mount, coterie: Any) -> None:
    place = small_disk(shared.root / "late", "256k")
    invitation = shared.root / "late.invitation"
    invitation.write_text(shared.invitation("late").to_text())
    join = ("owner", "join", invitation, "--home", place, "--json")
    for pages in (0, 1, 2, 3):
        filler = fill(place, leave=pages * 4096)
        code, _, wrong = coterie(*join)
        assert (code, "disk is full" in wrong["problem"]) == (6, True), wrong
        filler.unlink()
    code, said, wrong = coterie(*join)
    assert code == 0, wrong
    assert said["owner"] == "late"


def test_an_aggregator_cannot_be_made_on_a_full_disk(tmp_path: Path, small_disk: Mount, coterie: Any) -> None:
    place = small_disk(tmp_path / "disk", "400k")
    filler = fill(place, leave=24 * 1024)
    words = ("aggregator", "init", place / "new", "--url", "https://localhost:8443", "--json")
    code, _, wrong = coterie(*words)
    assert (code, "disk is full" in wrong["problem"]) == (6, True)
    assert not list((place / "new").iterdir()), "half an aggregator would be in the way of the next attempt"
    filler.unlink()
    assert coterie(*words)[0] == 0


def test_an_aggregator_does_not_start_on_a_full_disk(tmp_path: Path, small_disk: Mount, coterie: Any) -> None:
    """And says why, for whoever restarts it."""
    place = small_disk(tmp_path / "disk", "3m")
    coterie("aggregator", "init", place / "new", "--url", "https://localhost:8443", "--json")
    filler = fill(place, leave=0)
    code, _, wrong = coterie("aggregator", "serve", place / "new", "--json")
    assert (code, "disk is full" in wrong["problem"]) == (6, True), wrong
    filler.unlink()
    assert coterie("aggregator", "owners", "list", place / "new", "--json")[0] == 0


def test_half_a_private_file_is_not_left(tmp_path: Path, small_disk: Mount) -> None:
    place = small_disk(tmp_path / "disk", "64k")
    with pytest.raises(OSError, match="No space"):
        write_private(place / "key", bytes(100_000))
    assert not list(place.iterdir())
    with pytest.raises(FederationError, match="cannot be written"):
        write_private(place / "no" / "key", b"x")
