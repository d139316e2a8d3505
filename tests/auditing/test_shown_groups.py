"""Groups that show: found wherever a method puts one drawn value on all rows of a group, and nowhere else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from coterie import Schema, audit, protect
from coterie.auditing.attacks.finding import Finding, Level

LABELS = ["a", "b", "c"]


def survey(people: int, seed: int, *, labels: int, numbers: int) -> tuple[pa.Table, Schema]:
    draws = np.random.default_rng(seed)
    columns = {f"n{j}": draws.integers(0, 101, people) for j in range(numbers)}
    columns |= {f"c{j}": draws.choice(LABELS, people) for j in range(labels)}
    number = {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 100}}
    label = {"type": "categorical", "role": "protect", "categories": {"labels": LABELS}}
    attributes = {name: number if name[0] == "n" else label for name in columns}
    return pa.table(columns), Schema.load({"attributes": attributes})


def shown(table: pa.Table, released: pa.Table, schema: Schema, k: int | None = None) -> Finding:
    found = audit(table, released, schema, k=k, order=range(table.num_rows), attacks=["shown-groups"])
    return found.findings[0]


@pytest.mark.parametrize("method", ["dp-ir", "dp-um", "dp-ir-path", "idp-ls", "dp-mdav", "idp-cbls"])
@pytest.mark.parametrize(("numbers", "labels"), [(3, 0), (0, 4), (1, 2)])
def test_at_a_tiny_epsilon_small_tables_show_their_groups(method: str, numbers: int, labels: int) -> None:
    """Where nobody can be linked any more: 120 people, k = 3, most values cut to the ends of the domain."""
    for seed in range(5):
        table, schema = survey(120, seed, labels=labels, numbers=numbers)
        release = protect(table, schema, method=method, epsilon="0.1", k=3, seed=seed)
        found = audit(table, release, schema, seed=seed)
        assert found.level is Level.SEVERE, (method, seed)


def test_values_drawn_for_every_row_show_no_groups() -> None:
    """Whatever size of groups the attacker supposes: at most in one of a thousand a severe risk, in one of twenty some."""
    levels = []
    for seed in range(60):
        table, schema = survey(150, seed, labels=1, numbers=2)
        released = protect(table, schema, method="laplace", epsilon=1, seed=seed).table
        found = [shown(table, released, schema, k) for k in (2, 3, 5)]
        assert not any(one.p_value is not None and one.p_value < 0.001 for one in found)
        levels += [one.p_value for one in found]
    assert np.mean([p <= 0.05 for p in levels if p is not None]) < 0.05


def test_two_groups_of_two_by_hand() -> None:
    """(1, 1 | 2, 2) is one of the six ways to deal four rows out, and its mirror image another."""
    table, schema = survey(4, 1, labels=0, numbers=1)
    table = pa.table({"n0": [10, 20, 30, 40]})
    found = shown(table, pa.table({"n0": [7, 7, 90, 90]}), schema, 2)
    assert found.estimate.value == 1.0
    assert found.baseline.value == pytest.approx(1 / 3)
    assert found.p_value == pytest.approx(1 / 3)
    mixed = shown(table, pa.table({"n0": [7, 90, 7, 90]}), schema, 2)
    assert (mixed.estimate.value, mixed.p_value, mixed.level) == (0.0, 1.0, Level.NOTHING)


def test_large_groups_do_not_overflow() -> None:
    table, schema = survey(2400, 3, labels=0, numbers=1)
    release = protect(table, schema, method="dp-ir", epsilon=1, k=1200, seed=1)
    found = audit(table, release, schema, attacks=["shown-groups"]).findings[0]
    assert (found.estimate.value, found.level) == (1.0, Level.SEVERE)
    assert found.p_value is not None
    assert found.p_value < 1e-200
