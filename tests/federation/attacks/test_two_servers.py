"""Two `serve` processes on one folder, or on one database, once signed a certificate over a broken file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coterie.federation.aggregator.home import Aggregator, init
from coterie.federation.errors import Conflict


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
