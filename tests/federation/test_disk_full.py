"""A full disk at the aggregator: nothing is lost, and the study is finished once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from federation_world import Look, people, until

from coterie.federation.owner import agent as agent_module
from coterie.ledger import Ledger


@pytest.fixture
def small_disk(federation: Any) -> Iterator[Path]:
    """A file system of 256 KB under the folder of chunks."""
    place = federation.aggregator.folder / "chunks"
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "coterie-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_the_aggregators_disk_is_full(
    federation: Any, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [federation.join(name) for name in ("a", "b")]
    for home in homes:
        federation.give(home, people(40, 5))
    study = federation.study(["a", "b"])
    for home in homes:
        Look(federation, home).once()
    federation.await_state(study, "COLLECTING")
    filler = small_disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    monkeypatch.setattr(agent_module, "backoff", lambda failures: filler.unlink(missing_ok=True) or 0.1)
    said = Look(federation, homes[0]).once()
    assert any(event == "unreachable" and "disk is full" in text for event, _, text in said), said
    assert not filler.exists(), "the pause is when the administrator made room"

    def released() -> bool:
        for home in homes:
            Look(federation, home).once()
        return bool(federation.shown(study)["state"] == "RELEASED")

    until(released, "the release")
    for home in homes:
        entries = Ledger.inspect(home.default_ledger).entries.values()
        assert len([entry for entry in entries if entry.state.charged]) == 1
