"""A release whose order was thrown away hides its linkage from the auditor, not from an attacker who knows some rows."""

from __future__ import annotations

from pathlib import Path

import pytest

import coterie
from coterie.auditing.auditing_release import MADE_AGAIN, SHUFFLED

PEOPLE, SCHEMA = coterie.demo_population(people=600), coterie.demo_schema()


def test_a_shuffled_release_is_as_severe_as_one_in_order(tmp_path: Path) -> None:
    coterie.publish(PEOPLE, SCHEMA, tmp_path / "out.csv", method="dp-ir", epsilon=1, k=5)
    found = coterie.audit(PEOPLE, tmp_path / "out.csv", SCHEMA)
    assert found.level.value == "severe risk"
    linkage = found.finding("tie-linkage")
    assert linkage is not None
    assert linkage.estimate.low > 0.5
    assert MADE_AGAIN in found.notes
    assert SHUFFLED not in found.notes


@pytest.mark.parametrize("attacks", [["tie-linkage"], ["membership-distance"]])
def test_only_what_needs_the_order_is_tried_on_the_second_release(tmp_path: Path, attacks: list[str]) -> None:
    coterie.publish(PEOPLE, SCHEMA, tmp_path / "out.csv", method="dp-ir", epsilon=1, k=5)
    found = coterie.audit(PEOPLE, tmp_path / "out.csv", SCHEMA, attacks=attacks)
    assert (MADE_AGAIN in found.notes) == (attacks == ["tie-linkage"])


def test_plain_noise_links_nobody_there_either(tmp_path: Path) -> None:
    coterie.publish(PEOPLE, SCHEMA, tmp_path / "out.csv", method="laplace", epsilon=1)
    found = coterie.audit(PEOPLE, tmp_path / "out.csv", SCHEMA, attacks=["tie-linkage", "nearest-linkage"])
    assert {one.level.value for one in found.findings} == {"nothing found"}
