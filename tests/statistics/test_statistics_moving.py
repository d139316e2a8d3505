"""A budget moved by hand: the parts are the whole, what is locked stays, nobody pays for a disjoint group."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statistics_people import document

from coterie.errors import ParameterError
from coterie.statistics import plan, read_specification, resplit
from coterie.statistics.planning.by_hand import grid_of, moved
from coterie.statistics.planning.plan import Plan, read_split, split_text


def planned(**changes: Any) -> Plan:
    return plan(read_specification(document(**changes)), "uniform", report_losses=False)


def plain(budget: dict[str, Any]) -> Plan:
    statistics = {
        "mean_cost": {"kind": "mean", "of": "cost"},
        "sd_cost": {"kind": "std", "of": "cost", "route": "direct"},
        "smokers": {"kind": "count", "where": {"smoker": "yes"}},
        "old": {"kind": "count", "where": {"age": {"from": 60}}},
        "middle": {"kind": "median", "of": "age"},
    }
    return planned(statistics=statistics, equations={}, budget=budget)


@pytest.mark.parametrize(
    "budget", [{"epsilon": "1"}, {"epsilon": "0.7"}, {"epsilon": "1/3"}, {"epsilon": "12"}]
)
def test_the_parts_add_up_to_the_total_whatever_is_moved(budget: dict[str, Any]) -> None:
    chosen = plain(budget)
    assert not chosen.design.parallel
    total, names = chosen.design.total, list(chosen.split)
    split = moved(chosen.design, chosen.split)
    rng = np.random.Generator(np.random.PCG64(5))
    for _ in range(200):
        name = names[rng.integers(len(names))]
        locked = [n for n in names if n != name and rng.random() < 0.3]
        wanted = Fraction(int(rng.integers(0, 1200)), 1000) * total
        before, split = split, moved(chosen.design, split, name, wanted, locked)
        assert sum(split.values()) == total
        assert all(split[n] == before[n] for n in locked)
        assert min(split.values()) > 0
    assert sum(resplit(chosen, split).budgets) == total  # the library takes it as it is


def test_a_share_within_reach_is_taken_exactly_and_the_rest_keeps_its_proportion() -> None:
    chosen = plain({"epsilon": "1"})
    name, *others = chosen.split
    split = moved(chosen.design, chosen.split, name, Fraction(1, 2))
    assert split[name] == Fraction(1, 2)
    assert all(abs(split[n] - Fraction(1, 8)) <= len(others) * grid_of(chosen.design) for n in others)


def test_a_share_out_of_reach_stops_at_the_floors_of_the_others() -> None:
    chosen = plain({"epsilon": "1"})
    name = next(iter(chosen.split))
    high = moved(chosen.design, chosen.split, name, Fraction(5))
    low = moved(chosen.design, chosen.split, name, Fraction(0))
    assert high[name] < 1
    assert low[name] > 0
    assert sum(high.values()) == sum(low.values()) == 1


def test_where_everything_else_is_locked_nothing_moves() -> None:
    chosen = plain({"epsilon": "1"})
    start = moved(chosen.design, chosen.split)
    name, *others = start
    assert moved(chosen.design, start, name, Fraction(9, 10), others) == start


def test_a_disjoint_group_does_not_pay() -> None:
    chosen = planned(
        neighbours="add-remove",
        # Direct standard deviations are measured one by one; counts and sums of groups are measured together.
        statistics={"d": {"kind": "std", "of": "cost", "by": {"smoker": ["yes", "no"]}, "route": "direct"},
                    "a": {"kind": "std", "of": "age", "by": {"smoker": ["yes", "no"]}, "route": "direct"}},
        equations={},
    )  # fmt: skip
    assert chosen.design.parallel
    start = moved(chosen.design, chosen.split)
    smokers = [name for name in start if "yes" in name]
    others = [name for name in start if "no" in name]
    split = moved(chosen.design, start, smokers[0], chosen.design.total * Fraction(3, 4))
    step = 3 * grid_of(chosen.design)
    assert abs(split[smokers[1]] - chosen.design.total / 4) <= step
    assert all(abs(split[name] - start[name]) <= step for name in others)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_moves_in_parallel_groups_never_cost_more_than_the_total(neighbours: str) -> None:
    chosen = planned(neighbours=neighbours)
    names, split = list(chosen.split), moved(chosen.design, chosen.split)
    rng = np.random.Generator(np.random.PCG64(6))
    for _ in range(60):
        name = names[rng.integers(len(names))]
        locked = [n for n in names if n != name and rng.random() < 0.2]
        split = moved(chosen.design, split, name, Fraction(float(rng.random())) * chosen.design.total, locked)
        used = chosen.design.feasible.used(np.array([float(b) for b in split.values()]))
        assert used <= float(chosen.design.total) * (1 + 1e-9)
    resplit(chosen, split)


def test_unknown_names_get_a_near_miss() -> None:
    chosen = plain({"epsilon": "1"})
    with pytest.raises(ParameterError, match="Nothing measured is called"):
        moved(chosen.design, chosen.split, "mean(cos)", Fraction(1, 2))


def test_a_split_survives_its_file(tmp_path: Path) -> None:
    split = moved(plain({"epsilon": "1/3"}).design, plain({"epsilon": "1/3"}).split)
    path = tmp_path / "split.yaml"
    path.write_text(split_text(split), encoding="utf-8")
    assert read_split(path) == split


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not valid YAML"),
        ("- 1\n", "not a list of names"),
        ("a: b\n", "not a finite number"),
        ("a: -1\n", "greater than 0"),
    ],
)
def test_a_bad_split_file(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "split.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=message):
        read_split(path)
    with pytest.raises(ParameterError, match="cannot be read"):
        read_split(tmp_path / "none.yaml")
