"""The simulated cluster of docs/explanation/performance.md: known schedules, recovered costs, and what more nodes do."""

from __future__ import annotations

import pytest
from benchmarks.cluster import Cluster, Run, Stage, kinds_of, makespan, simulate, spread_of


def test_tasks_go_to_the_first_free_core() -> None:
    assert makespan([1.0] * 8, 2) == 4
    assert makespan([3.0, 1.0, 1.0, 1.0], 2) == 3
    assert makespan([1.0, 1.0, 1.0, 3.0], 2) == 4  # the long one came last
    assert makespan([2.0], 100) == 2


def _run(records: int, attributes: int) -> Run:
    """Costs that are known: 0.5 s a task and 2 µs per value when reading, 1 µs and 40 bytes per value after the shuffle."""
    values = records * attributes
    reading = [Stage("read", 4, 4 * 0.5 + 2e-6 * records, 0.0, shuffled=False) for _ in range(attributes)]
    return Run(values, attributes, [*reading, Stage("order", 8, 1e-6 * values, 40.0 * values, shuffled=True)])


def test_costs_of_every_kind_are_found_again() -> None:
    kinds = {kind.name: kind for kind in kinds_of([_run(10**5, 1), _run(10**6, 2), _run(10**6, 4)])}
    assert (kinds["read"].stages(50), kinds["order"].stages(50)) == (50, 1)
    assert kinds["read"].task == pytest.approx(0.5)
    assert kinds["read"].value == pytest.approx(2e-6)
    assert (kinds["order"].value, kinds["order"].fetched) == pytest.approx((1e-6, 40))


def test_time_follows_from_costs_cores_and_network() -> None:
    kinds = kinds_of([_run(10**5, 1), _run(10**6, 2), _run(10**6, 4)])
    slow = Cluster(nodes=2, cores=4, network=1e9, input_parts=64, shuffle_parts=64, stage_start=0.0)
    values = 8e9
    work = (2e-6 * values + 2 * 64 * 0.5 + 1e-6 * values) / 8
    fetch = 40 * values / 2 / 1e9
    assert simulate(kinds, values, 2, slow, spread=0.0) == pytest.approx(work + fetch)
    fast = Cluster(nodes=8, cores=4, network=1e9, input_parts=64, shuffle_parts=64, stage_start=0.0)
    assert simulate(kinds, values, 2, fast, spread=0.0) == pytest.approx((work + fetch) / 4)
    assert simulate(kinds, values, 2, slow, spread=1.0) > 1.05 * (work + fetch)  # stragglers
    assert simulate(kinds, values, 2, slow, 1.0, seed=3) == simulate(kinds, values, 2, slow, 1.0, seed=3)


def test_the_spread_is_that_of_the_logarithms() -> None:
    assert spread_of([[1.0] * 8, [2.0] * 8]) == 0
    assert spread_of([[1.0, 2.718281828]]) == pytest.approx(0.5**0.5)
    assert spread_of([[1.0, 2.718281828], [3.0, 3.0, 3.0]]) == pytest.approx((0.5 / 3) ** 0.5)
    assert spread_of([[1.0, 1.0, 0.01, 0.02], [0.001, 0.004], [5.0]]) == 0  # without work; too short; alone
