"""kill -9 at any moment: no release without a charge, no double charge, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def kills(sweep: str, root: Path, stride: int) -> int:
    done = subprocess.run(
        [sys.executable, str(HERE / "ledger_kill_driver.py"), sweep, str(root), str(stride)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
        timeout=550,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_release_killed_at_every_line(tmp_path: Path) -> None:
    assert kills("release", tmp_path, 1) > 300


def test_a_recovery_killed_at_many_lines(tmp_path: Path) -> None:
    assert kills("recovery", tmp_path, 12) > 200


def test_a_release_killed_at_random_moments(tmp_path: Path) -> None:
    assert kills("moments", tmp_path, 25) == 25


@pytest.mark.slow
def test_a_recovery_killed_at_every_line(tmp_path: Path) -> None:
    assert kills("recovery", tmp_path, 1) > 2000
