"""Verdicts are calibrated: never "severe" for proved releases, always for those that give people away.

A small, seeded part of `python -m benchmarks verdicts`, which measures 200 releases of each kind.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.verdicts import LEAKS, PROVED, Kind, households, verdict

import coterie
from coterie.auditing.attacks.evidence import one_each
from coterie.auditing.attacks.finding import Level
from coterie.auditing.auditing_method import hold_back


def name(kind: Kind) -> str:
    return kind.label


@pytest.mark.parametrize("kind", PROVED, ids=name)
def test_a_proved_release_is_not_called_severe(kind: Kind) -> None:
    found = [verdict(kind, number) for number in range(4)]
    assert Level.SEVERE not in found
    assert found.count(Level.NOTHING) >= 3


def test_without_a_control_group_a_proved_release_of_synthetic_rows_gets_no_verdict() -> None:
    assert {verdict(PROVED[0], number, control=False) for number in range(4)} == {Level.UNKNOWN}


@pytest.mark.parametrize("control", [True, False], ids=["with control", "alone"])
@pytest.mark.parametrize("kind", LEAKS, ids=name)
def test_a_release_that_gives_people_away_is_called_severe(kind: Kind, control: bool) -> None:
    # k = 3 and 5 of 120 to 960 people; 12 releases on are other ε.
    assert {verdict(kind, number, control=control) for number in (0, 6, 21)} == {Level.SEVERE}


def test_targets_are_one_per_unit() -> None:
    units = np.array([0, 0, 0, 1, 2, 2, 3])
    draws = np.random.default_rng(1)
    chosen = [one_each(units, 7, draws, 10) for _ in range(200)]
    assert all(sorted(units[targets]) == [0, 1, 2, 3] for targets in chosen)
    seen = np.bincount(np.concatenate(chosen), minlength=7)
    assert seen.min() > 40, "every member of a unit has its turn"
    assert len(one_each(units, 7, draws, 2)) == 2


def test_trials_count_households_not_rows() -> None:
    """Copies of one household's rows are one piece of evidence: an interval from rows would be twice as narrow."""
    table, schema = households(600, 3)
    inside, outside = hold_back(table, 1, schema)
    release = coterie.protect(inside, schema, method="dp-synthetic", epsilon=1, seed=1, rows=300)
    found = coterie.audit(inside, release, schema, control=outside, attacks=["attribute-inference"])
    (finding,) = found.findings
    assert finding.estimate.trials == len(set(inside["home"].to_pylist())) < inside.num_rows / 2
    assert any("one person per home is tried" in note for note in found.notes)
    rows = outside.drop_columns(["home"])
    note = coterie.audit(inside, release, schema, control=rows, attacks=["attribute-inference"]).notes
    assert any("Attacks count rows" in words for words in note)
