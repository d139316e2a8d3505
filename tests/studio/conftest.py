"""The world of the tests that release from the studio: a browser, a project that is ready, and the folder of its ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie.studio.auth import StudioHome
from release_world import World, browser, ledger, ready_project


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    home = StudioHome(tmp_path / "home")
    ledger(tmp_path)
    with browser(home) as client:
        yield client, ready_project(home, tmp_path), tmp_path
