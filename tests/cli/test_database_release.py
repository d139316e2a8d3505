"""From a table of a database to a table of a database, charged once even when the last step fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command_line import run_command
from coterie import Ledger, demo_population, demo_schema
from coterie.publication.staging import StagedTable, stage
from coterie.table.reading import read_table


def arguments(url: str, folder: Path) -> list[object]:
    return [
        *("protect", url, "--table", "people", "--schema", folder / "schema.yaml"),
        *(
            "--method",
            "laplace",
            "--epsilon",
            "1",
            "--output",
            url,
            "--output-table",
            "released",
        ),
        *("--certificate", folder / "released.json"),
        *("--ledger", folder / "ledger.sqlite", "--population", "people"),
    ]


def prepare(url: str, folder: Path) -> None:
    stage(demo_population(people=500), url, force=True, table_name="people").publish()
    (folder / "schema.yaml").write_text(demo_schema().to_yaml())
    Ledger.add_population(folder / "ledger.sqlite", "people", "3")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'data.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.mark.database
def test_table_to_table_and_verified(url: str, tmp_path: Path) -> None:
    prepare(url, tmp_path)
    command = arguments(url, tmp_path)
    assert run_command(*command, "--force").code == 0
    released = read_table(url, table="released")
    assert released.num_rows == 500
    assert "person" not in released.column_names
    verify = ("certificate", "verify", url, tmp_path / "released.json", "--table")
    assert run_command(*verify, "released").code == 0
    assert run_command(*verify, "people").code == 7


@pytest.mark.database
def test_a_release_that_could_not_get_its_name_is_finished_by_the_same_command(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(url, tmp_path)
    command = [*arguments(url, tmp_path), "--force"]

    def fails(self: Any) -> None:
        raise OSError("the connection is gone")

    with monkeypatch.context() as broken:
        broken.setattr(StagedTable, "publish", fails)
        assert run_command(*command).code == 8
    charged = Ledger.inspect(tmp_path / "ledger.sqlite").balance("people").spent
    assert charged == 1
    assert run_command(*command).code == 0
    assert Ledger.inspect(tmp_path / "ledger.sqlite").balance("people").spent == 1
    verify = ("certificate", "verify", url, tmp_path / "released.json", "--table", "released")
    assert run_command(*verify).code == 0


def test_a_database_needs_a_place_for_the_certificate(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'data.db'}"
    prepare(url, tmp_path)
    command = [
        part for part in arguments(url, tmp_path) if part not in ("--certificate", tmp_path / "released.json")
    ]
    refused = run_command(*command)
    assert refused.code == 5
    assert "--certificate" in refused.err
