"""A year of operation under a clock of our own: nothing is lost, nothing is charged twice, nothing is released twice."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from simulated_year import EVENTS, Year


def lived(monkeypatch: pytest.MonkeyPatch, weeks: int) -> None:
    memory = Path("/dev/shm")  # a year of synchronous writes
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as root:
        year = Year(Path(root), monkeypatch)
        try:
            for number in range(weeks):
                year.week(number)
        finally:
            year.close()
    assert len(year.released) >= weeks // 2
    said = {event for _, event in year.said}
    assert {"released", "opened", "given back", "rolled back", "suspended"} <= said


def test_a_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event once."""
    lived(monkeypatch, len(EVENTS))


@pytest.mark.slow
def test_a_year(monkeypatch: pytest.MonkeyPatch) -> None:
    lived(monkeypatch, 52)
