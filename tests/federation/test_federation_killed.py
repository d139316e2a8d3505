"""kill -9 at any step of a study: one charge, the same bytes, a finished study."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

HERE = Path(__file__).parent


def kills(role: str, stride: int, patience: int = 540) -> int:
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as root:
        kept = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
        done = subprocess.run(
            [sys.executable, str(HERE / "federation_kill_driver.py"), role, f"{root}/world", str(stride)],
            env={**kept, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])},
            capture_output=True,
            text=True,
            check=False,
            timeout=patience,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return int(done.stdout.split()[-1])


def test_an_owner_is_killed() -> None:
    assert kills("owner", 6) >= 5


def test_the_aggregator_is_killed() -> None:
    assert kills("aggregator-vertical", 14) >= 4


def test_an_owner_is_killed_while_ids_are_blinded() -> None:
    assert kills("owner-blinded", 30) >= 2


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kind", ["", "-vertical", "-blinded"])
@pytest.mark.parametrize("who", ["owner", "aggregator"])
def test_killed_at_every_point(who: str, kind: str) -> None:
    assert kills(who + kind, 1, patience=2900) >= 40
