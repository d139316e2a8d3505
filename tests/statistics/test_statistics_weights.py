"""Weighted statistics: the weighted estimates, from sums whose sensitivity is that of the largest weight possible.

Brute force: all tables of two fixed records and one unit or record, beside all others with another.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.errors import CoterieError, DataError
from coterie.statistics.planning.plan import Plan
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.releasing import releasing
from coterie.statistics.releasing.certificate import promise
from coterie.statistics.releasing.consistency import Replay
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import evaluate
from coterie.statistics.specification.reading import read_specification

W_MAX = 4.0
STATISTICS: dict[str, Any] = {
    "people": {"kind": "count", "expected": 8},
    "by_sex": {"kind": "count", "by": {"sex": ["f", "m"]}, "expected": 6},
    "ages": {"kind": "sum", "of": "age", "expected": 20},
    "age": {"kind": "mean", "of": "age", "at_least": 2, "expected": 2.5},
    "women": {"kind": "proportion", "that": {"sex": "f"}, "expected": 0.5},
}


def document(neighbours: str = "add-remove", **changes: Any) -> dict[str, Any]:
    return {
        "release": "weights",
        "population": "people",
        "schema": {
            "attributes": {
                "age": {"type": "integer", "role": "protect", "domain": {"lower": 1, "upper": 4}},
                "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["f", "m"]}},
                "w": {"type": "continuous", "role": "weight", "domain": {"lower": 1, "upper": W_MAX}},
            },
        },
        "records": 3 if neighbours == "replace-one" else 6,
        "neighbours": neighbours,
        "budget": {"epsilon": 1},
        "weighted": True,
        "mean_weight": 2,
        "statistics": STATISTICS,
        **changes,
    }


def for_units(at_most: int) -> dict[str, Any]:
    content = document()
    del content["neighbours"]
    schema = content["schema"]
    return content | {
        "schema": {
            "unit": {"column": "home", "at_most": at_most},
            "attributes": {"home": {"role": "identifier"}, **schema["attributes"]},
        }
    }


def table(rows: list[tuple[int, str, float]]) -> pa.Table:
    age, sex, weight = zip(*rows, strict=True)
    home = ["x"] * (len(rows) - 2) + ["a", "b"]
    return pa.table({"home": home, "age": age, "sex": sex, "w": pa.array(weight, pa.float64())})


OTHERS = [(2, "f", 1.5), (4, "m", W_MAX)]
KINDS = [(age, sex, weight) for age in (1, 4) for sex in ("f", "m") for weight in (1.0, W_MAX)]


def exact_values(chosen: Plan, sizes: range) -> dict[int, list[dict[str, list[int]]]]:
    """What is measured, by the number of records of the one that is exchanged."""
    found: dict[int, list[dict[str, list[int]]]] = {}
    for size in sizes:
        for unit in itertools.combinations_with_replacement(KINDS, size):
            exact = compute(chosen.design, open_records(table([*unit, *OTHERS])))
            found.setdefault(size, []).append(
                {name: value if isinstance(value, list) else [value] for name, value in exact.items()}  # type: ignore[misc]
            )
    return found


def worst(chosen: Plan, pairs: Any) -> Fraction:
    """The largest privacy loss: Σ|move|·ε/steps, or Σ move²·ρ/steps²."""
    power = 1 if chosen.specification.budget.currency == "ε" else 2
    most = Fraction(0)
    for first, second in pairs:
        cost = Fraction(0)
        for m, part in zip(chosen.design.measurements, chosen.budgets, strict=True):
            moved = sum(abs(a - b) ** power for a, b in zip(first[m.name], second[m.name], strict=True))
            cost += part * moved / m.moved(chosen.specification.neighbours, power)
        most = max(most, cost)
    return most


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.5"}])
def test_no_record_costs_more_than_the_budget(budget: dict[str, Any]) -> None:
    for neighbours in ("add-remove", "replace-one"):
        chosen = coterie.statistics.plan(document(neighbours, budget=budget))
        if neighbours == "add-remove":
            found = exact_values(chosen, range(2))
            pairs: Any = itertools.product(found[0], found[1])
        else:
            pairs = itertools.combinations(exact_values(chosen, range(1, 2))[1], 2)
        cost = worst(chosen, pairs)
        assert cost <= chosen.specification.budget.total
        assert cost > chosen.specification.budget.total / 3  # and the budget is used


def test_a_household_of_two_costs_twice_as_much_and_no_more() -> None:
    chosen = coterie.statistics.plan(for_units(2))
    found = exact_values(chosen, range(3))
    everything = [values for size in found.values() for values in size]
    cost = worst(chosen, itertools.combinations(everything, 2))
    assert chosen.specification.budget.total / 3 < cost <= chosen.specification.budget.total
    alone = coterie.statistics.plan(for_units(1))
    assert worst(alone, itertools.combinations(everything, 2)) > alone.specification.budget.total


def test_one_record_moves_a_weighted_count_by_the_largest_weight() -> None:
    """Column X of the design, times w_max: a count w_max, a sum w_max·B. Tight: no smaller figure would do."""
    statistics = {
        "people": {"kind": "count", "where": {"sex": "f"}, "route": "direct"},
        "ages": {"kind": "sum", "of": "age", "where": {"sex": "f"}, "route": "direct"},
    }
    chosen = coterie.statistics.plan(document("replace-one", statistics=statistics))
    found = exact_values(chosen, range(1, 2))[1]
    for m, largest in zip(chosen.design.measurements, (W_MAX, W_MAX * 4), strict=True):
        moves = [abs(a[m.name][0] - b[m.name][0]) * m.unit for a, b in itertools.combinations(found, 2)]
        assert m.bound.nominal(chosen.specification.neighbours, False) == pytest.approx(largest)
        assert float(max(moves)) == pytest.approx(largest)


def survey(rows: int = 3000) -> pa.Table:
    draw = np.random.default_rng(4)
    sex = draw.choice(["f", "m"], rows)
    age = draw.integers(1, 5, rows)
    weight = np.where(sex == "f", draw.uniform(1, 2, rows), draw.uniform(2, 4, rows))
    return pa.table({"age": age, "sex": sex, "w": weight})


def without_noise(chosen: Plan, source: Any) -> tuple[dict[str, float], Any]:
    exact = compute(chosen.design, source)
    rows: list[float] = []
    for m in chosen.design.measurements:
        joint = isinstance(m, JointMeasurement)
        rows += [float(k * m.unit) for k in exact[m.name]] if joint else [m.value(exact[m.name])]
    budgets = np.array([float(budget) for budget in chosen.budgets])
    found = evaluate(chosen.design, chosen.design.reconstruction(budgets).linear(np.array([rows])))
    return {name: float(value[0]) for part in found for name, value in part.items()}, exact


def survey_document(**changes: Any) -> dict[str, Any]:
    guesses = {"people": 7000, "by_sex": 3500, "ages": 17_000, "age": 2.5, "women": 0.4}
    statistics = {name: {**entry, "expected": guesses[name]} for name, entry in STATISTICS.items()}
    options = {"records": 3000, "mean_weight": 2.25, "statistics": statistics, **changes}
    return document("replace-one", **options)


def test_estimates_are_the_weighted_ones() -> None:
    found, _ = without_noise(coterie.statistics.plan(survey_document()), open_records(survey()))
    people = survey().to_pandas()
    women = people[people.sex == "f"]
    assert found["people"] == pytest.approx(people.w.sum())
    assert found["by_sex[f]"] == pytest.approx(women.w.sum())
    assert found["ages"] == pytest.approx((people.w * people.age).sum())
    assert found["age"] == pytest.approx(np.average(people.age, weights=people.w))
    assert found["women"] == pytest.approx(women.w.sum() / people.w.sum())
    assert abs(found["women"] - 0.5) > 0.1  # which is what is not weighted


def test_an_entry_may_say_otherwise() -> None:
    statistics = {
        "n": {"kind": "count", "where": {"sex": "f"}, "weighted": False},
        "people": {"kind": "count"},
    }
    content = survey_document(statistics=statistics)
    found, _ = without_noise(coterie.statistics.plan(content), open_records(survey()))
    assert found["n"] == pytest.approx((survey()["sex"].to_pandas() == "f").sum())
    del content["weighted"]
    statistics["people"] |= {"weighted": True}
    again, _ = without_noise(coterie.statistics.plan(content), open_records(survey()))
    assert again["people"] == pytest.approx(found["people"])


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [{"epsilon": "1"}, {"rho": "0.02"}])
def test_intervals_cover_the_weighted_truth_nineteen_times_in_twenty(budget: dict[str, str]) -> None:
    """150 seeded releases; coverage not below 95 % by more than 3.5 standard errors, and below it for half as wide ones."""
    chosen = coterie.statistics.plan(survey_document(budget=budget))
    truth, exact = without_noise(chosen, open_records(survey()))
    budgets = np.array([float(b) for b in chosen.budgets])
    hits, narrow = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    runs = 150
    for seed in range(runs):
        noisy = releasing.add_noise(chosen.design, exact, chosen.budgets, Noise.seeded(seed))
        bounds = Replay.of(chosen.design, budgets).intervals(noisy[0])
        for name, value in truth.items():
            lower, upper = bounds[name].lower, bounds[name].upper
            hits[name] += bool(lower - 1e-9 <= value <= upper + 1e-9)
            middle, half = (lower + upper) / 2, (upper - lower) / 4
            narrow[name] += bool(abs(value - middle) <= half)
    least = 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / runs)
    for name, count in hits.items():
        assert count / runs > least, name
    assert min(narrow.values()) / runs < least


def test_a_release_says_that_it_is_weighted(tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    made = coterie.statistics.release(read_specification(survey_document()), survey(), path, seed=1)
    text = path.read_text(encoding="utf-8")
    assert "weighted count" in text
    assert "weighted mean" in text
    assert made is not None
    stated = promise(read_specification(survey_document()), as_in_paper=False, private_noise=True)
    assert stated.status == "proved"
    assert any("as delivered" in line for line in stated.assumptions)


def test_large_weights_are_warned_of_by_public_numbers_alone() -> None:
    def said(**changes: Any) -> str:
        return " ".join(coterie.statistics.plan(survey_document(**changes)).warnings)

    assert "Weighting makes" not in said()
    assert "4 times as large" in said(mean_weight=1.0)
    assert "synthetic rows" in said(mean_weight=1.0)
    people = {"people": {"kind": "count", "expected": 3100}}
    assert "3.9 times as large" in said(mean_weight=None, statistics=people)
    assert "Nothing says how large weights are" in said(
        mean_weight=None, statistics={"people": {"kind": "count"}}
    )
    totals = survey_document(mean_weight=None)
    totals["schema"]["totals"] = 3300
    assert "3.6 times as large" in " ".join(coterie.statistics.plan(totals).warnings)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weighted": "yes"}, "true or false"),
        ({"mean_weight": -1}, "mean_weight"),
        ({"mean_weight": 50}, "outside the bounds"),
        ({"statistics": {"m": {"kind": "median", "of": "age"}}}, "cannot be weighted"),
        ({"statistics": {"m": {"kind": "std", "of": "age"}}}, "cannot be weighted"),
        ({"statistics": {"m": {"kind": "covariance", "of": ["age", "w"]}}}, "cannot be weighted"),
        ({"statistics": {"m": {"kind": "sum", "of": "w"}}}, "the weight itself"),
        (
            {
                "statistics": {
                    "m": {"kind": "histogram", "of": "w", "bins": [1 + i / 1000 for i in range(3001)]}
                }
            },
            "cannot be weighted",
        ),
        ({"statistics": {"m": {"kind": "count", "weighted": 1}}}, "true or false"),
    ],
)
def test_what_cannot_be_weighted(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CoterieError, match=words):
        read_specification(survey_document(**changes))


def test_a_schema_without_a_weight() -> None:
    content = survey_document()
    content["schema"]["attributes"]["w"]["role"] = "protect"
    with pytest.raises(CoterieError, match="the schema has no weight"):
        read_specification(content | {"mean_weight": None})
    with pytest.raises(CoterieError, match="the schema has no weight"):
        read_specification(content | {"weighted": False})
    content["schema"]["attributes"]["w"] = {"role": "weight"}
    with pytest.raises(CoterieError, match="needs public bounds"):
        read_specification(content)


@pytest.mark.parametrize("bad", [0.0, -3.0, 9.0, None])
def test_bad_weights_are_refused(bad: float | None, tmp_path: Path) -> None:
    weights = [*[2.0] * 2999, bad]
    records = survey().set_column(2, "w", pa.array(weights, pa.float64()))
    with pytest.raises(DataError, match="'w'") as refused:
        coterie.statistics.release(read_specification(survey_document()), records, tmp_path / "f.csv", seed=1)
    assert not any(digit in str(refused.value) for digit in "123456789")
    assert not (tmp_path / "f.csv").exists()
