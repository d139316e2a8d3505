"""The tests of the federation need its optional part; without it they are skipped, and say so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import run_command

for name in ("fastapi", "uvicorn", "httpx", "sqlalchemy", "alembic"):
    pytest.importorskip(name, reason="pip install 'coterie[federation]'")


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Any]:
    """An aggregator that serves."""
    from federation_world import world

    with world(tmp_path) as made:
        made.serve()
        yield made


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The same, one for all tests that do not stop it: names of owners are used once in all files, so what joins it for
    several tests lives as long as it does (a worker may leave a file and come back)."""
    from federation_world import world

    with world(tmp_path_factory.mktemp("federation")) as made:
        made.serve()
        yield made


@pytest.fixture(autouse=True)
def _no_study_left_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """The aggregator would look at it twice a second as long as the other tests last."""
    yield
    if "shared" in request.fixturenames:
        request.getfixturevalue("shared").cancel_all()


@pytest.fixture
def coterie() -> Callable[..., Any]:
    """Exit code, standard output, error (both as JSON where --json was given)."""

    def run(*words: object) -> tuple[int, Any, Any]:
        done = run_command(*words)
        if "--json" in words:
            return done.code, *(json.loads(said) if said else None for said in (done.out, done.err))
        return done.code, done.out, done.err

    return run
