"""The guard of tests/left_behind.py finds what it is there for, names it, and clears it away."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from left_behind import nothing_left_behind

OFFENCES: dict[str, Callable[[], object]] = {
    "log handlers": lambda: logging.getLogger("coterie.x").addHandler(logging.StreamHandler(io.StringIO())),
    "log levels": lambda: logging.getLogger().setLevel(logging.DEBUG),
    "environment": lambda: os.environ.update(COTERIE_LEFT="x"),
    "working folder": lambda: os.chdir("/"),
    "sys.path": lambda: sys.path.append("/nowhere"),
}


@pytest.mark.parametrize("name", OFFENCES)
def test_what_is_left_is_found_and_cleared(name: str) -> None:
    with pytest.raises(AssertionError, match=f"left behind: {name}"), nothing_left_behind():
        OFFENCES[name]()
    with nothing_left_behind():
        pass


def test_a_thread_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("left_behind._PATIENCE_SECONDS", 0.05)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="forgotten")
    with pytest.raises(AssertionError, match="forgotten"), nothing_left_behind():
        thread.start()
    stop.set()
    thread.join()


@pytest.mark.parametrize(
    ("name", "offend"),
    [("umask", lambda: os.umask(0o077)), ("floating-point errors", lambda: np.seterr(all="raise"))],
)
def test_numbers_of_the_process_are_found(name: str, offend: Callable[[], object]) -> None:
    mask, errors = os.umask(0o022), np.geterr()
    try:
        with pytest.raises(AssertionError, match=name), nothing_left_behind():
            offend()
    finally:
        os.umask(mask)
        np.seterr(**errors)


def test_a_service_that_cannot_start_gives_logging_back(tmp_path: Path) -> None:
    """`aggregator serve` left a handler on a stream that was closed: later tests found its complaints in their output."""
    pytest.importorskip("fastapi", reason="pip install 'coterie[federation]'")
    with nothing_left_behind():
        assert CliRunner().invoke(app, ["aggregator", "serve", str(tmp_path), "--json"]).exit_code == 1
