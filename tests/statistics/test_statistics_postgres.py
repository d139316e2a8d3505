"""The database computes the statistics itself: the same numbers as the file, and only aggregates leave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statistics_people import EVERY_KIND, document, population

from coterie.errors import DataError, ParameterError
from coterie.publication.ledger import Ledger
from coterie.publication.staging import stage
from coterie.statistics import plan, read_specification, release
from coterie.statistics.releasing.measuring import compute
from coterie.statistics.releasing.records import open_records

pytestmark = pytest.mark.database


@pytest.fixture
def people_in_database(postgres_url: str) -> str:
    stage(population(), postgres_url, table_name="stats people", force=True).publish()
    return postgres_url


def test_the_database_and_the_file_agree(people_in_database: str) -> None:
    chosen = plan(read_specification(EVERY_KIND), report_losses=False)
    source = open_records(population())
    expected = compute(chosen.design, source)
    source = open_records(people_in_database, "stats people")
    found = compute(chosen.design, source)
    for name, value in expected.items():
        assert np.array_equal(found[name], value), name


def test_a_release_from_the_database_is_charged_once(people_in_database: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    Ledger.add_population(ledger, "people", "10")
    options: dict[str, Any] = {"table": "stats people", "ledger": ledger}
    chosen = read_specification(document())
    first = release(chosen, people_in_database, tmp_path / "out.csv", **options)
    again = release(chosen, people_in_database, tmp_path / "out.csv", **options)
    assert again.again
    assert first.content == again.content
    assert Ledger.inspect(ledger).balance("people").spent == 2
    assert "not-in-any-message" not in first.certificate.to_json()


def test_declared_groups_are_checked_in_the_database(people_in_database: str, tmp_path: Path) -> None:
    content = document(
        statistics={
            "a": {"kind": "count", "where": {"region": "north"}, "expected": 1000},
            "b": {"kind": "count", "where": {"smoker": "yes"}, "expected": 600},
        },
        equations={},
        disjoint=[["a", "b"]],
    )
    with pytest.raises(DataError, match="share records"):
        release(read_specification(content), people_in_database, tmp_path / "o.csv", table="stats people")
    assert not list(tmp_path.iterdir())


def test_faults_of_the_database_are_told_without_values(people_in_database: str, tmp_path: Path) -> None:
    chosen = read_specification(document())
    with pytest.raises(ParameterError, match="no table was named"):
        release(chosen, people_in_database, tmp_path / "out.csv")
    with pytest.raises(DataError, match="has no table 'nobody'"):
        release(chosen, people_in_database, tmp_path / "out.csv", table="nobody")
    text = population()
    text = text.set_column(3, "cost", [["much"] * text.num_rows])
    stage(text, people_in_database, table_name="stats text", force=True).publish()
    with pytest.raises(DataError, match=r"Column 'cost' holds text that is not a number") as caught:
        release(chosen, people_in_database, tmp_path / "out.csv", table="stats text")
    assert "much" not in str(caught.value)
    ranged = {"n": {"kind": "count", "where": {"region": {"from": 3}}, "expected": 600}}
    filtered = read_specification(document(statistics=ranged, equations={}))
    with pytest.raises(DataError, match="Column 'region' holds text"):
        release(filtered, people_in_database, tmp_path / "out.csv", table="stats text")


def test_values_with_quotes_are_only_compared(people_in_database: str) -> None:
    hostile = 'x\'; DROP TABLE "stats people"; --'
    content = document(
        statistics={"n": {"kind": "count", "where": {"region": hostile}, "expected": 5}}, equations={}
    )
    chosen = plan(read_specification(content), report_losses=False)
    for _ in range(2):
        source = open_records(people_in_database, "stats people")
        assert list(compute(chosen.design, source).values()) == [0.0]
