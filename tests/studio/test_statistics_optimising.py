"""Optimise, compare and solve: work in a process of its own, whose split the desk takes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

pytest.importorskip("fastapi")
from statistics_studio import Bench, sentence, working
from test_statistics_page import PLAIN

from coterie.schema.exact import as_text, number
from coterie.statistics import plan, solve_budget
from coterie.studio.desk.desk import Desk


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with working(tmp_path_factory.mktemp("optimising")) as made:
        yield made


def test_optimise_moves_the_split_to_the_optimum_and_compares(bench: Bench) -> None:
    bench.specify()
    bench.post("/optimise", allocator="gradient")
    assert bench.job()["state"] == "done"
    desk = Desk(bench.project)
    best = plan(desk.specification(), report_losses=False)
    assert desk.state.rule == "gradient"
    assert desk.state.split == {name: as_text(budget) for name, budget in best.split.items()}
    page = bench.get()
    assert "Ways of splitting, compared" in page
    assert number(best.score) in page
    assert "off by 10 %" in page
    assert "coterie stats plan" in page
    assert "--split" not in page
    bench.move("count | smoker = yes", "0.5")
    assert "--split" in bench.get()


def test_another_way_can_be_used(bench: Bench) -> None:
    bench.specify(**PLAIN)
    bench.post("/optimise", allocator="uniform")
    assert bench.job()["state"] == "done"
    assert Desk(bench.project).state.rule == "uniform"
    assert "no such way" in sentence(bench.post("/optimise", 400, allocator="guess"))


def test_the_smallest_budget_for_tolerances_becomes_the_total(bench: Bench) -> None:
    statistics = {
        "average": {"kind": "mean", "of": "cost", "tolerance": 0.5},
        "smokers": {"kind": "count", "where": {"smoker": "yes"}, "expected": 600, "tolerance": 20},
    }
    bench.specify(statistics=statistics, equations={}, budget={"epsilon": "4"})
    solved = solve_budget(Desk(bench.project).specification())
    bench.post("/optimise", solve="yes")
    assert bench.job()["state"] == "done", bench.job()
    desk = Desk(bench.project)
    assert desk.specification().budget == solved.specification.budget
    assert sum(map(Fraction, desk.state.split.values())) == solved.specification.budget.epsilon
    page = bench.get()
    assert f"The smallest budget that keeps all tolerances is {solved.specification.budget}" in page
    assert page.count("✓ kept") == 2


def test_without_tolerances_there_is_nothing_to_solve(bench: Bench) -> None:
    bench.specify(**PLAIN)
    assert "No tolerance is stated" in sentence(bench.post("/optimise", 400, solve="yes"))


def test_a_split_changed_in_the_meantime_is_not_overwritten(bench: Bench) -> None:
    bench.specify(**PLAIN)
    old = bench.version
    told = bench.move("count | smoker = yes", "0.4")
    bench.post("/optimise", allocator="gradient", version=old)
    job = bench.job()
    assert job["state"] == "failed"
    assert "another tab" in job["problem"]
    assert Desk(bench.project).state.version == told["version"]
