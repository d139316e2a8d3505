"""Covariance, correlation, slope and intercept: the table's own, in agreement with all else, and predicted well."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from statistics_people import document, population

from coterie.errors import ParameterError
from coterie.statistics import plan, read_specification
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import total
from coterie.statistics.prediction.value_grid import ValueGrid
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import add_noise, evaluate, make_release
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.specification import Neighbours

KINDS = ("covariance", "correlation", "slope", "intercept")
SMOKER = {"smoker": ["yes", "no"]}


def asked(epsilon: str, **changes: Any) -> dict[str, Any]:
    statistics = {kind: {"kind": kind, "of": ["cost", "age"], "by": SMOKER} for kind in KINDS}
    statistics["spread"] = {"kind": "variance", "of": "age", "by": SMOKER, "route": "sums"}
    statistics["height"] = {"kind": "mean", "of": "cost", "by": SMOKER, "route": "sums"}
    statistics["place"] = {"kind": "mean", "of": "age", "by": SMOKER, "route": "sums"}
    return document(statistics=statistics, equations={}, budget={"epsilon": epsilon}, **changes)


def released(epsilon: str, **changes: Any) -> dict[str, float]:
    chosen = plan(read_specification(asked(epsilon, **changes)), "square-root", report_losses=False)
    made = make_release(chosen, open_records(population()), Noise.seeded(1))
    return {value.name: value.value for value in made.values}


def test_without_noise_they_are_the_tables_own() -> None:
    found = released("1e9")
    for group in SMOKER["smoker"]:
        rows = population().filter(pc.field("smoker") == group)
        x, y = rows["age"].to_numpy(), rows["cost"].to_numpy()
        slope, intercept = np.polyfit(x, y, 1)
        assert found[f"covariance[{group}]"] == pytest.approx(np.cov(x, y)[0, 1], rel=1e-4)
        assert found[f"correlation[{group}]"] == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-4)
        assert found[f"slope[{group}]"] == pytest.approx(slope, rel=1e-4)
        assert found[f"intercept[{group}]"] == pytest.approx(intercept, rel=1e-6)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_with_noise_they_agree_with_what_else_is_published(neighbours: str) -> None:
    found = released("3", neighbours=neighbours)
    for group in ("[yes]", "[no]"):
        slope = found["covariance" + group] / found["spread" + group]
        assert found["slope" + group] == pytest.approx(slope, rel=1e-9)
        height = found["height" + group] - found["slope" + group] * found["place" + group]
        assert found["intercept" + group] == pytest.approx(height, rel=1e-9)


@pytest.mark.statistical
def test_the_predicted_error_is_that_of_many_releases() -> None:
    """1,000 releases at a fixed seed: the mean error is within 4 standard errors, and half of it would not be."""
    content = asked("8")
    truth = released("1e9")
    for kind in KINDS:
        content["statistics"][kind]["expected"] = {g: truth[f"{kind}[{g}]"] for g in SMOKER["smoker"]}
    for name in ("spread", "height", "place"):
        content["statistics"][name]["expected"] = {g: truth[f"{name}[{g}]"] for g in SMOKER["smoker"]}
    costs = {g: population().filter(pc.field("smoker") == g)["cost"].to_numpy() for g in SMOKER["smoker"]}
    content["statistics"]["height"]["about"] = {g: {"std": float(costs[g].std())} for g in costs}
    content["statistics"]["n"] = {"kind": "count", "by": SMOKER, "expected": {"yes": 574, "no": 1826}}
    chosen = plan(read_specification(content), "square-root", report_losses=False)
    design, runs = chosen.design, 1000
    budgets = np.array([float(budget) for budget in chosen.budgets])
    exact = compute(design, open_records(population()))
    noisy = add_noise(design, exact, chosen.budgets, Noise.seeded(7), releases=runs)
    drawn, _ = evaluate(design, design.reconstruction(budgets).fitted(noisy))
    predicted = {error.name: error.mean for error in chosen.errors}
    for kind, group in itertools.product(KINDS, ("[yes]", "[no]")):
        off = np.abs(drawn[kind + group] - truth[kind + group])
        slack = 4 * off.std() / np.sqrt(runs)
        assert abs(off.mean() - predicted[kind + group]) <= slack, kind + group
        assert abs(off.mean() - predicted[kind + group] / 2) > slack


@pytest.mark.statistical
def test_the_predicted_error_is_right_where_tables_are_measured_together() -> None:
    """Counts and sums over the same groups have noise of their own. Was: one noise for all, errors 100 times too small."""
    groups = {"smoker": SMOKER["smoker"], "region": ["north", "south", "west"]}
    content = document(
        statistics={
            "n": {"kind": "count", "by": groups, "totals": True, "expected": 400, "complete": True},
            "b": {"kind": "slope", "of": ["cost", "age"], "by": groups, "totals": True, "expected": 0.0},
            "m": {
                "kind": "mean",
                "of": "cost",
                "by": groups,
                "totals": True,
                "route": "sums",
                "expected": 21,
            },
        },
        equations={},
        budget={"epsilon": "20"},
    )
    for name, std in (("b", [14.1, 21.0]), ("m", 14.1)):
        content["statistics"][name]["about"] = {"mean": [20.8, 53.5] if name == "b" else 20.8, "std": std}
    chosen = plan(read_specification(content), "square-root", report_losses=False)
    together = [m for m in chosen.design.measurements if isinstance(m, JointMeasurement)]
    assert len(together) > 3
    assert len({m.count for m in together}) < len(together)  # which is what went wrong
    drawn = [m.draws(10).ravel() for m in together if m.count == together[-1].count]
    correlated = np.corrcoef([column[: min(map(len, drawn))] for column in drawn]) - np.eye(len(drawn))
    assert np.abs(correlated).max() < 0.1
    design, runs = chosen.design, 400
    budgets = np.array([float(budget) for budget in chosen.budgets])
    exact = compute(design, open_records(population()))
    noisy = add_noise(design, exact, chosen.budgets, Noise.seeded(7), releases=runs)
    drawn_values, _ = evaluate(design, design.reconstruction(budgets).fitted(noisy))
    predicted = {error.name: error.median for error in chosen.errors}
    for name in ("b[all, all]", "m[all, all]"):
        off = np.abs(drawn_values[name] - np.median(drawn_values[name]))
        assert 0.7 < float(np.median(off)) / predicted[name] < 1.4, name


def test_no_record_moves_a_sum_of_centred_products_further_than_the_bound() -> None:
    grids = ValueGrid.of(-2.0, 6.0), ValueGrid.of(0.0, 10.0)
    m = total(Filter(), (("x", 2.0), ("y", 5.0)), grids)
    records = list(itertools.product(np.linspace(-2, 6, 9), np.linspace(0, 10, 9)))
    terms = [(x - 2.0) * (y - 5.0) for x, y in records]
    assert max(abs(term) for term in terms) == pytest.approx(m.bound.enter)
    assert max(terms) - min(terms) == pytest.approx(m.bound.swap)
    assert m.bound.nominal(Neighbours.ADD_REMOVE, True) < 60.0  # uncentred products reach 60


def test_a_divisor_near_zero_is_kept_at_the_public_figure() -> None:
    """All ages are the same, so the variance is zero and the noise has either sign."""
    table = population().set_column(2, "age", [[50] * population().num_rows])
    content = asked("1")
    content["statistics"]["slope"]["least_std"] = 4.0
    chosen = plan(read_specification(content), "square-root", report_losses=False)
    assert any("A std below 4 is taken as 4" in words for words in chosen.warnings)
    for seed in range(5):
        made = make_release(chosen, open_records(table), Noise.seeded(seed))
        value = made["slope[yes]"].value
        assert abs(value) <= made["covariance[yes]"].upper / 16 + 100 / 2 * np.sqrt(2) / 4
        assert np.isfinite(value)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "one column": ({"kind": "slope", "of": "cost"}, "has 1 columns under `of`, but needs 2"),
    "twice the same": ({"kind": "covariance", "of": ["cost", "cost"]}, "names one column twice"),
    "direct": ({"kind": "slope", "of": ["cost", "age"], "route": "direct"}, "cannot be measured directly"),
    "least std of a mean": ({"kind": "mean", "of": "cost", "least_std": 1}, "is no slope or intercept"),
    "least std too large": (
        {"kind": "slope", "of": ["cost", "age"], "least_std": 100},
        r"no std of 'age' can reach least_std.*below 84.8",
    ),
    "one mean for two": (
        {"kind": "slope", "of": ["cost", "age"], "about": {"mean": 3}},
        r"there are 2 columns.*mean: \[first, second\]",
    ),
    "no correlation of 2": (
        {"kind": "correlation", "of": ["cost", "age"], "expected": 2},
        "expected where it cannot lie",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    entry, message = BAD[name]
    with pytest.raises(ParameterError) as caught:
        read_specification(document(statistics={"s": entry}, equations={}))
    assert re.search(message, f"{caught.value.problem} {caught.value.advice}")
