"""Statistics with a privacy unit: exchanging a unit of at most c records for any other, or none, costs at most the budget.

Brute force: all tables of a few fixed records and one unit of 0 to c rows, beside all tables with another such unit.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import coterie
from coterie.errors import ParameterError
from coterie.promise.loss import NeighbourRelation
from coterie.statistics.planning.plan import Plan
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import Kind
from coterie.statistics.releasing.certificate import promise, purpose_of
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import make_release
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.reading import read_specification
from coterie.statistics.specification.specification import Neighbours


def document(at_most: int = 2, **changes: Any) -> dict[str, Any]:
    return {
        "release": "homes",
        "population": "people",
        "schema": {
            "unit": {"column": "home", "at_most": at_most},
            "attributes": {
                "home": {"role": "identifier"},
                "age": {"type": "integer", "role": "protect", "domain": {"lower": 1, "upper": 4}},
                "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["f", "m"]}},
            },
        },
        "records": 6,
        "budget": {"epsilon": 1},
        "statistics": {
            "n": {"kind": "count", "expected": 6},
            "by_sex": {"kind": "count", "by": {"sex": ["f", "m"]}, "expected": 3},
            "ages": {"kind": "sum", "of": "age", "expected": 12, "route": "direct"},
        },
        **changes,
    }


def planned(content: dict[str, Any]) -> Plan:
    return coterie.statistics.plan(content)


def table(rows: list[tuple[str, int, str]]) -> pa.Table:
    home, age, sex = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "home": pa.array(home, pa.string()),
            "age": pa.array(age, pa.int64()),
            "sex": pa.array(sex, pa.string()),
        }
    )


def exact_values(chosen: Plan, at_most: int) -> list[dict[str, list[int]]]:
    """What is measured on every table: the unit's rows before some others."""
    others = [("b", 2, "f"), ("d", 4, "m"), ("c", 1, "m")]
    kinds = [("x", age, sex) for age in (1, 4) for sex in ("f", "m")]
    found = []
    for size in range(at_most + 1):
        for unit in itertools.combinations_with_replacement(kinds, size):
            exact = compute(chosen.design, open_records(table([*unit, *others])))
            found.append(
                {name: value if isinstance(value, list) else [value] for name, value in exact.items()}
            )
    return found  # type: ignore[return-value]


def losses(chosen: Plan, found: list[dict[str, list[int]]]) -> list[Fraction]:
    """The privacy loss of every pair of neighbours: Σ|move|·ε/steps, or Σ move²·ρ/steps²."""
    specification = chosen.specification
    power = 1 if specification.budget.currency == "ε" else 2
    costs = []
    for first, second in itertools.combinations(found, 2):
        cost = Fraction(0)
        for m, part in zip(chosen.design.measurements, chosen.budgets, strict=True):
            moved = sum(abs(a - b) ** power for a, b in zip(first[m.name], second[m.name], strict=True))
            cost += part * moved / m.moved(specification.neighbours, power)
        costs.append(cost)
    return costs


@pytest.mark.parametrize(
    ("at_most", "budget"),
    [(1, {"epsilon": 1}), (3, {"epsilon": 1}), (2, {"rho": "0.5"}), (2, {"epsilon": 1, "delta": "1e-6"})],
)
def test_no_exchange_of_a_unit_costs_more_than_the_budget(at_most: int, budget: dict[str, Any]) -> None:
    chosen = planned(document(at_most, budget=budget))
    costs = losses(chosen, exact_values(chosen, at_most))
    assert max(costs) <= chosen.specification.budget.total
    assert max(costs) > chosen.specification.budget.total / 2  # and the budget is used


def test_noise_for_one_row_would_fail_that_test() -> None:
    values = exact_values(planned(document(2)), 2)  # (with its own limit, the second row would not count)
    assert max(losses(planned(document(1)), values)) > 1


@pytest.mark.parametrize("at_most", [1, 2])
def test_sensitivities_are_those_of_the_design(at_most: int) -> None:
    """One count c, a histogram 2c, a sum c·max(Δ, B)."""
    chosen = planned(document(at_most))
    found = exact_values(chosen, at_most)
    for m in chosen.design.measurements:
        unit = m.unit
        moved = max(
            sum(abs(a - b) for a, b in zip(first[m.name], second[m.name], strict=True)) * unit
            for first, second in itertools.combinations(found, 2)
        )
        if isinstance(m, JointMeasurement):
            assert moved <= m.moved(Neighbours.EXCHANGE, 1) * unit
        elif m.kind is Kind.COUNT:
            assert moved == m.moved(Neighbours.EXCHANGE, 1) * unit == at_most
        elif m.kind is Kind.SUM:
            assert moved == at_most * 4  # max(4 − 1, 4)
            assert m.bound.nominal(Neighbours.EXCHANGE, everyone=True) == pytest.approx(at_most * 4)


def test_a_histogram_alone_moves_by_two_for_each_row() -> None:
    chosen = planned(
        document(3, statistics={"n": {"kind": "count", "by": {"sex": ["f", "m"]}, "expected": 3}})
    )
    found = exact_values(chosen, 3)
    assert max(losses(chosen, found)) == 1
    total = max(
        sum(abs(a - b) for name in first for a, b in zip(first[name], second[name], strict=True))
        for first, second in itertools.combinations(found, 2)
    )
    assert total == 2 * 3


def test_the_row_planner_at_a_part_of_the_budget_is_the_same() -> None:
    for budget, part in (({"epsilon": 1}, {"epsilon": "1/4"}), ({"rho": 1}, {"rho": "1/16"})):
        wide, narrow = planned(document(4, budget=budget)), planned(document(1, budget=part))
        for one, other in zip(wide.errors, narrow.errors, strict=True):
            # Where fits are simulated, both are known up to their standard errors.
            off = 4 * (one.standard_error**2 + other.standard_error**2) ** 0.5 + 0.02 * other.mean
            assert one.mean == pytest.approx(other.mean, abs=off)
            assert one.mean != pytest.approx(other.mean / 2, abs=off)


def test_rows_beyond_the_limit_do_not_count() -> None:
    chosen = planned(document(2))
    rows = [("a", 1, "f")] * 5 + [("b", 2, "m")]
    exact = compute(chosen.design, open_records(table(rows)))
    assert max(max(v) if isinstance(v, list) else v for n, v in exact.items() if "count" in n) <= 3


def test_certificate_and_ledger_speak_of_the_unit() -> None:
    specification = read_specification(document(2))
    stated = promise(specification, as_in_paper=False, private_noise=True)
    assert stated.status == "proved"
    assert stated.label == "ε = 1 differential privacy per home of at most 2 rows"
    assert (stated.unit, stated.rows_per_unit, stated.relation, stated.policy) == (
        *("home", 2, "exchange", "truncate"),
    )
    loss = purpose_of(specification).loss
    assert (loss.relation, loss.unit, loss.rows_per_unit, loss.policy) == (
        *(NeighbourRelation.EXCHANGE, "home", 2, "truncate"),
    )
    content = document(2)
    content["schema"]["unit"]["above"] = "refuse"
    refusing = promise(read_specification(content), as_in_paper=False, private_noise=True)
    assert refusing.status == "conditional"
    assert "no home has more than 2 records" in refusing.label


def test_other_neighbours_are_refused_and_exchange_is_taken() -> None:
    for neighbours in ("replace-one", "add-remove"):
        with pytest.raises(ParameterError, match="the schema names a unit".replace("the", "The", 1)):
            read_specification(document(neighbours=neighbours))
    assert read_specification(document(neighbours="exchange")).neighbours is Neighbours.EXCHANGE
    assert read_specification(document()).size is None  # the number of records is private


def test_a_release_end_to_end(tmp_path: Path) -> None:
    rows = [(f"h{i // 3}", 1 + i % 4, "fm"[i % 2]) for i in range(60)]
    done = coterie.statistics.release(document(2), table(rows), tmp_path / "homes.csv")
    assert done.certificate.guarantee.unit == "home"
    again = type(done.certificate).from_json(done.certificate.to_json())
    assert again == done.certificate
    with pytest.raises(ParameterError, match="every record for a person"):
        coterie.statistics.release(document(2), table(rows), tmp_path / "paper.csv", as_in_paper=True, seed=1)


# Values that may be missing: what is added up is (present, y − centre).

GAPPY = {
    "wage": {
        "type": "integer",
        "role": "protect",
        "missing": "own category",
        "domain": {"lower": -2, "upper": 4},
    }
}


def with_gaps(at_most: int, statistics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    content = document(at_most, statistics=statistics, **changes)
    content["schema"]["attributes"] |= GAPPY
    return content


def with_wages(rows: list[tuple[str, int | None, str]]) -> pa.Table:
    home, wage, sex = zip(*rows, strict=True)
    return pa.table({"home": home, "wage": pa.array(wage, pa.int64()), "sex": sex, "age": [1] * len(rows)})


@pytest.mark.parametrize("at_most", [1, 2])
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.5"}])
@pytest.mark.parametrize(
    "asked",
    [
        {"pay": {"kind": "sum", "of": "wage", "expected": 6}},
        {"pay": {"kind": "mean", "of": "wage", "at_least": 2, "expected": 1, "route": "sums"}},
        {"pay": {"kind": "sum", "of": "wage", "by": {"sex": ["f", "m"]}, "expected": 3}},
        {
            "n": {"kind": "count", "expected": 6},
            "pay": {"kind": "std", "of": "wage", "at_least": 2, "expected": 1, "route": "sums"},
        },
    ],
)
def test_whether_a_value_is_missing_costs_what_the_value_costs(
    at_most: int, budget: dict[str, Any], asked: dict[str, Any]
) -> None:
    chosen = planned(with_gaps(at_most, asked, budget=budget))
    others = [("b", 2, "f"), ("d", None, "m"), ("c", -1, "m")]
    kinds = [("x", wage, sex) for wage in (None, -2, 4) for sex in ("f", "m")]
    found: list[dict[str, list[int]]] = []
    for size in range(at_most + 1):
        for unit in itertools.combinations_with_replacement(kinds, size):
            exact = compute(chosen.design, open_records(with_wages([*unit, *others])))
            found.append({n: list(v) if isinstance(v, list) else [int(v)] for n, v in exact.items()})  # type: ignore[call-overload]
    costs = losses(chosen, found)
    assert max(costs) <= chosen.specification.budget.total
    assert max(costs) > chosen.specification.budget.total / 3


def test_what_is_missing_is_in_no_sum_and_in_no_mean() -> None:
    asked = {
        "people": {"kind": "count", "expected": 6},
        "pay": {"kind": "sum", "of": "wage", "expected": 5},
        "mean": {"kind": "mean", "of": "wage", "at_least": 1, "expected": 2},
        "women": {"kind": "mean", "of": "wage", "where": {"sex": "f"}, "at_least": 1, "expected": 2},
        "middle": {"kind": "median", "of": "wage", "expected": 2},
    }
    rows = [("a", 4, "f"), ("b", None, "f"), ("c", 3, "m"), ("d", None, "m"), ("e", 3, "m"), ("f", 2, "f")]
    content = with_gaps(1, asked, budget={"epsilon": 1_000_000})
    made = make_release(planned(content), open_records(with_wages(rows)), Noise.seeded(1))
    figures = {value.name: round(value.value, 2) for value in made.values}
    assert figures == {"people": 6, "pay": 12, "mean": 3, "women": 3, "middle": 3}


def test_a_plan_takes_as_many_values_as_records_where_nothing_is_said() -> None:
    asked = {
        "n": {"kind": "count", "by": {"sex": ["f", "m"]}, "expected": {"f": 400, "m": 200}},
        "pay": {"kind": "mean", "of": "wage", "by": {"sex": ["f", "m"]}, "at_least": 10, "expected": 1},
    }
    made = read_specification(with_gaps(1, asked, records=600))
    expected = Expectations.of(made)
    assert [expected.size(made[f"pay[{sex}]"].where) for sex in "fm"] == [400, 200]
    assert str(made["pay[f]"].where) == "sex = f, wage ≥ -2"
