"""kill -9 at any moment of a publication, whoever asks for it: one charge, one draw, files whole or none, nothing left.

Rows, statistics, an owner's part and the studio go through one mechanism (coterie.publication.publishing), and so they are
killed by one driver.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

HERE = Path(__file__).parent
WAYS = ("rows", "statistics", "owner", "studio")


def kills(sweep: str, way: str, stride: int = 1, patience: int = 550) -> int:
    if way == "studio":
        pytest.importorskip("fastapi")
    # In memory where there is such a place: a kill keeps what the kernel has, so only the waiting is saved.
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as root:
        done = subprocess.run(
            [sys.executable, str(HERE / "kill_driver.py"), sweep, way, root, str(stride)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), *filter(None, sys.path)]),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=patience,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return int(done.stdout)


@pytest.mark.parametrize("way", WAYS)
def test_killed_after_every_step(way: str) -> None:
    """Every event in the ledger, every file that is written, every name that is given."""
    assert kills("steps", way) >= 8


@pytest.mark.parametrize(
    ("way", "stride"), [("rows", 90), ("statistics", 180), ("owner", 120), ("studio", 200)]
)
def test_killed_at_many_lines(way: str, stride: int) -> None:
    assert kills("release", way, stride) >= 5


def test_a_recovery_is_killed_at_many_lines() -> None:
    assert kills("recovery", "rows", 120) > 50


def test_killed_at_random_moments() -> None:
    assert kills("moments", "rows", 10) == 10


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("way", WAYS)
def test_killed_at_every_line(way: str) -> None:
    assert kills("release", way, patience=2900) > 1000


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_a_recovery_is_killed_at_every_line() -> None:
    assert kills("recovery", "rows", 3, patience=2900) > 2000
