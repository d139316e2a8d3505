"""Two `serve` processes on one folder, or on one database, once signed a certificate over a broken file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from coterie.federation.aggregator.home import Aggregator, init
from coterie.federation.errors import Conflict
from coterie.federation.storage.database import Database


def test_one_process_a_folder(tmp_path: Path, coterie: Any) -> None:
    aggregator, _ = init(tmp_path / "a", "https://127.0.0.1:1", ["127.0.0.1"], None)
    with aggregator.serving():
        code, _, wrong = coterie("aggregator", "serve", tmp_path / "a", "--json")
        assert (code, wrong["error"]) == (16, "Conflict")
        assert "Another process serves" in wrong["problem"]
    with aggregator.serving():
        pass  # free again
    aggregator.close()


def test_one_process_a_database(tmp_path: Path) -> None:
    """A copy of the folder that names the same database."""
    database = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    first, _ = init(tmp_path / "a", "https://127.0.0.1:1", ["127.0.0.1"], database)
    second, _ = init(tmp_path / "b", "https://127.0.0.1:1", ["127.0.0.1"], None)
    other = Aggregator.open(second.folder, database)
    with first.serving(), pytest.raises(Conflict, match="database"), other.serving():
        pass
    for opened in (first, second, other):
        opened.close()


@pytest.mark.database
def test_a_place_that_was_lost_with_the_line_is_noticed(postgres_url: str, tmp_path: Path) -> None:
    """PostgreSQL lets a lock go when the connection ends: after a restart of the server two could serve."""
    first, second = Database.open(postgres_url), Database.open(postgres_url)

    def cut(database: Database) -> None:
        assert database._lock is not None
        number = database._lock.connection.driver_connection.info.backend_pid
        with second.engine.connect() as other:
            other.execute(text("SELECT pg_terminate_backend(:number, 10000)"), {"number": number})

    try:
        with first.alone() as alone:
            assert alone
            assert first.still_alone()
            cut(first)
            assert first.still_alone(), "it was free, and is taken again"
            with second.alone() as other:
                assert not other
            cut(first)
            with second.alone() as other:
                assert other
                assert not first.still_alone()
    finally:
        first.close()
        second.close()
