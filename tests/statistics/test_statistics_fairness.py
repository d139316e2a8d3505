"""No statistic is starved: the fairness that was asked for holds, costs little, and says what cannot be kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from statistics_people import document

from coterie.errors import ParameterError
from coterie.statistics import plan, read_specification
from coterie.statistics.planning.composition import Feasible, as_floats
from coterie.statistics.planning.planner import alone


def asked(**more: Any) -> dict[str, Any]:
    """A small group beside a large one, and a median that the best score leaves with little."""
    sizes = {"yes": 30, "no": 100_000}
    statistics = {
        "n": {"kind": "count", "by": {"smoker": ["yes", "no"]}, "expected": sizes},
        "avg": {
            "kind": "mean",
            "of": "cost",
            "by": {"smoker": ["yes", "no"]},
            "expected": 40,
            "about": {label: {"size": size} for label, size in sizes.items()},
        },
        "middle": {"kind": "median", "of": "cost", "expected": 38},
    }
    fixed = {"equations": {}, "neighbours": "add-remove", "budget": {"epsilon": 1}}
    return document(statistics=statistics, **{**fixed, **more})


def ratios(content: dict[str, Any]) -> np.ndarray:
    """Errors under the split, against those with the whole budget for each."""
    chosen = plan(read_specification(content), report_losses=False)
    metric, feasible = chosen.design.metric, chosen.design.feasible
    errors = metric.target_errors(as_floats(chosen.budgets), exponent=9)
    return np.asarray(errors / metric.target_errors(alone(feasible), exponent=9))


def test_no_error_is_above_so_many_times_its_own_optimum() -> None:
    free = ratios(asked())
    assert free.max() > 7  # the default leaves the median with little
    for most in (6.0, 4.0):
        assert ratios(asked(fairness=most)).max() <= most * (1 + 1e-6)


def test_a_limit_that_holds_anyway_changes_nothing() -> None:
    loose = plan(read_specification(asked(fairness=1000)), report_losses=False)
    assert loose.budgets == plan(read_specification(asked()), report_losses=False).budgets


def test_every_allocator_keeps_it() -> None:
    chosen = plan(read_specification(asked(fairness=4)), "uniform", ["geometric"], report_losses=False)
    scores = {row.allocator: row.score for row in chosen.rows}
    assert scores["geometric"] < 2 * scores["uniform"]


def test_what_cannot_be_kept_is_refused_with_what_can() -> None:
    with pytest.raises(ParameterError, match=r"fairness: 1.5 cannot be kept") as refused:
        plan(read_specification(asked(fairness=1.5)))
    advised = float(str(refused.value.advice).split("fairness: ")[1].split(" ")[0])
    assert ratios(asked(fairness=advised)).max() <= advised * (1 + 1e-6)


@pytest.mark.parametrize("fairness", [0.5, "much", -1])
def test_a_fairness_that_is_none_is_refused(fairness: object) -> None:
    with pytest.raises(ParameterError, match="fairness"):
        read_specification(asked(fairness=fairness))


def test_solving_for_a_budget_excludes_it() -> None:
    content = asked(fairness=6)
    content["statistics"]["middle"]["tolerance"] = 2
    with pytest.raises(ParameterError, match="fairness"):
        plan(content, solve=True)


def test_the_most_for_each_alone_keeps_every_row() -> None:
    feasible = Feasible(np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]]), 1.0, np.full(3, 0.1))
    for place, most in enumerate(alone(feasible)):
        budgets = feasible.floors.copy()
        budgets[place] = most
        assert feasible.used(budgets) == pytest.approx(1.0)


def test_a_tolerance_that_no_budget_meets_is_named() -> None:
    content = asked()
    content["statistics"]["middle"]["tolerance"] = 1e-9
    content["statistics"]["n"]["tolerance"] = 5
    with pytest.raises(ParameterError, match=r"tolerance of 'middle'"):
        plan(content, solve=True)


def test_a_starved_statistic_is_named() -> None:
    content = asked(budget={"epsilon": "0.01"})
    warnings = plan(read_specification(content), report_losses=False).warnings
    assert any(w.startswith("Useless at this budget") and "avg[yes]" in w for w in warnings)
