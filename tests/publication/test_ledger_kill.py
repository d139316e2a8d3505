"""kill -9 at any moment: no release without a charge, no double charge, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

HERE = Path(__file__).parent


def kills(sweep: str, stride: int) -> int:
    # In memory where there is such a place: a kill keeps what the kernel has, so only the waiting is saved.
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as root:
        done = subprocess.run(
            [sys.executable, str(HERE / "ledger_kill_driver.py"), sweep, root, str(stride)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])},
            capture_output=True,
            text=True,
            check=False,
            timeout=550,
        )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_release_killed_at_every_second_line() -> None:
    assert kills("release", 2) > 300


def test_a_recovery_killed_at_many_lines() -> None:
    assert kills("recovery", 12) > 200


def test_a_release_killed_at_random_moments() -> None:
    assert kills("moments", 25) == 25


@pytest.mark.slow
def test_a_release_killed_at_every_line() -> None:
    assert kills("release", 1) > 600


@pytest.mark.slow
def test_a_recovery_killed_at_every_line() -> None:
    assert kills("recovery", 1) > 2000
