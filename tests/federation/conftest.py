"""The tests of the federation need its optional part; without it they are skipped, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

for name in ("fastapi", "uvicorn", "httpx", "sqlalchemy", "alembic"):
    pytest.importorskip(name, reason="pip install 'coterie[federation]'")


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Any]:
    """An aggregator that serves."""
    from federation_world import world

    with world(tmp_path) as made:
        made.serve()
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The same, one for all tests of a file."""
    from federation_world import world

    with world(tmp_path_factory.mktemp("federation")) as made:
        made.serve()
        yield made
