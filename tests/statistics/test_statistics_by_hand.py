"""Budget moved by hand: exact where it was named, proportional elsewhere, within the total, quick, releasable."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import pytest
from statistics_people import document, population

from coterie.errors import ParameterError
from coterie.statistics import Plan, plan, read_specification, release, resplit
from coterie.statistics.prediction.metric import Metric

COUNT = "count | smoker = yes"


@pytest.fixture(scope="module")
def chosen() -> Plan:
    return plan(read_specification(document()), report_losses=False)


def test_named_budgets_are_exact_and_the_others_keep_their_proportion(chosen: Plan) -> None:
    moved = resplit(chosen, {COUNT: "0.3"})
    assert moved.split[COUNT] == Fraction(3, 10)
    ratios = [float(moved.split[name] / chosen.split[name]) for name in chosen.split if name != COUNT]
    assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-6)
    for row in chosen.design.feasible.rows:
        parts = zip(row, moved.budgets, strict=True)
        assert sum(Fraction(float(share)) * budget for share, budget in parts) <= 2
    before = {error.name: error.mean for error in chosen.errors}
    after = {error.name: error.mean for error in moved.errors}
    assert after["n[yes]"] < before["n[yes]"]
    assert after["n[no]"] < before["n[no]"]  # both add up to the public number of records
    assert any(after[name] > before[name] for name in after)
    assert moved.score >= 0.98 * chosen.score  # the search does not see that counts add up
    assert moved.digest != chosen.digest


def test_the_same_split_gives_the_same_plan(chosen: Plan) -> None:
    again = resplit(chosen, chosen.split)
    assert again.budgets == chosen.budgets
    assert again.errors == chosen.errors
    assert resplit(chosen, {}).score == pytest.approx(chosen.score, rel=1e-6)


@pytest.mark.parametrize(
    ("split", "problem"),
    [
        ({"count | smoker = yess": "0.3"}, "count | smoker = yes"),
        ({COUNT: "0"}, "greater than 0"),
        ({COUNT: "nothing"}, "not a finite number"),
        ({COUNT: "2.5"}, "cost 2.5, and 2 is there"),
    ],
)
def test_a_split_that_cannot_be_is_refused(chosen: Plan, split: dict[str, str], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        resplit(chosen, split)


def test_a_budget_below_the_floor_is_refused() -> None:
    chosen = plan(read_specification(document(floor="0.05")), report_losses=False)
    with pytest.raises(ParameterError, match="below the floor"):
        resplit(chosen, {COUNT: "0.04"})
    assert min(resplit(chosen, {COUNT: "1.7"}).budgets) >= Fraction(1, 20) * Fraction(999_999, 1_000_000)


def test_moving_budget_searches_for_nothing(chosen: Plan, evaluations: list[Metric]) -> None:
    resplit(chosen, {COUNT: "0.3"})
    assert not evaluations


@pytest.mark.slow
def test_moving_budget_is_quick_enough_to_drag_a_slider(chosen: Plan) -> None:
    resplit(chosen, {COUNT: "0.3"})  # the points of the simulation are made once
    started = time.process_time()
    for part in range(1, 11):
        resplit(chosen, {COUNT: Fraction(part, 20)})
    assert (time.process_time() - started) / 10 < 0.1


def test_a_split_by_hand_is_what_is_released(chosen: Plan, tmp_path: Path) -> None:
    split = {COUNT: "0.3"}
    made = release(chosen.specification, population(), tmp_path / "out.json", seed=1, split=split)
    assert made.certificate.plan == resplit(chosen, split).digest
    assert {m.name: m.budget for m in made.certificate.measurements}[COUNT] == "0.3"
    with pytest.raises(ParameterError, match="already published"):
        release(chosen.specification, population(), tmp_path / "out.json", seed=1, split={COUNT: "0.2"})
    piloted = read_specification(document(pilot="0.1"))
    with pytest.raises(ParameterError, match="pilot"):
        release(piloted, population(), tmp_path / "other.json", split=split)
