"""Audits with a privacy unit: whole units are held back, halved and exchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.auditing.attacks._distinguishing import candidate_neighbours
from coterie.auditing.attacks.evidence import MethodEvidence
from coterie.auditing.auditing_method import hold_back
from coterie.errors import DataError
from coterie.promise.terms import Budget
from coterie.table.units import bounded_units

SCHEMA = coterie.Schema.load(
    {
        "unit": {"column": "home", "at_most": 3},
        "attributes": {
            "person": {"role": "identifier"},
            "home": {"role": "identifier"},
            "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 100}},
            "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["f", "m"]}},
        },
    }
)


def people(homes: int = 120) -> pa.Table:
    draws = np.random.default_rng(2)
    home = np.repeat(np.arange(homes), draws.integers(1, 6, homes))
    return pa.table(
        {
            "person": np.arange(len(home)),
            "home": home,
            "age": draws.integers(0, 101, len(home)),
            "sex": pa.array(draws.choice(["f", "m"], len(home)).tolist(), pa.string()),
        }
    )


def test_control_groups_hold_whole_units() -> None:
    table = people()
    inside, outside = hold_back(table, 1, SCHEMA)
    homes = [set(part.column("home").to_pylist()) for part in (inside, outside)]
    assert not homes[0] & homes[1]
    assert len(homes[1]) == round(0.2 * 120)
    assert inside.num_rows + outside.num_rows == table.num_rows


def test_a_control_group_with_members_of_the_same_units_is_refused() -> None:
    table = people()
    order = np.random.default_rng(1).permutation(table.num_rows)
    inside, control = table.take(order[50:]), table.take(order[:50])  # other persons, the same homes
    released = coterie.protect(inside, SCHEMA, method="dp-synthetic", epsilon=1).table
    with pytest.raises(DataError, match="people of the same 'home'"):
        coterie.audit(inside, released, SCHEMA, control=control, attacks=["membership-distance"])


def evidence(**changes: Any) -> MethodEvidence:
    options = {"method": "dp-synthetic", "epsilon": "1", "k": None, "population": people(), "schema": SCHEMA}
    return MethodEvidence(**{**options, "releases": lambda table: lambda seed: table, **changes})


def test_neighbours_differ_by_a_unit_of_equal_rows_and_by_presence() -> None:
    found = [pair for _, pair in candidate_neighbours(evidence())]
    assert len(found) == 2
    sizes = [(first.num_rows, second.num_rows) for first, second in found]
    assert sizes[0][0] == sizes[0][1] == sizes[1][1]
    assert sizes[1][1] - sizes[1][0] == 3
    for first, second in found:
        rows = [set(map(str, table.to_pylist())) for table in (first, second)]
        assert len(rows[0] - rows[1]) <= 1  # c equal rows
        assert len(rows[1] - rows[0]) == 1
        key = np.arange(4, dtype=np.uint64)
        kept = [bounded_units(table, SCHEMA, key).num_rows for table in (first, second)]
        assert kept[1] - kept[0] == second.num_rows - first.num_rows  # the unit counts in full


def test_noise_for_one_row_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same attack on a release that forgets how many rows a unit has."""
    right = Budget.of

    def wrong(*options: Any) -> Budget:
        return replace(right(*options), rows_per_unit=1)

    monkeypatch.setattr(Budget, "of", wrong)
    assert SCHEMA.unit is not None
    schema = SCHEMA.model_copy(update={"unit": SCHEMA.unit.model_copy(update={"at_most": 12})})
    found = coterie.audit_method(
        "dp-synthetic",
        epsilon=1,
        population=people(20),
        schema=schema,
        runs=200,
        attacks=["empirical-epsilon"],
    )
    assert found.findings[0].estimate.value > 1.5


def test_what_an_exchange_shows_stays_within_epsilon() -> None:
    found = coterie.audit_method(
        "dp-synthetic",
        epsilon=1,
        population=people(40),
        schema=SCHEMA,
        neighbours=next(candidate_neighbours(evidence(population=people(40))))[1],
        runs=100,
        attacks=["empirical-epsilon"],
    )
    (finding,) = found.findings
    assert finding.estimate.value <= 1
    assert found.promised is not None
    assert "per home of at most 3 rows" in found.promised.label
    assert any("one person per home is tried" in note for note in found.notes)


def kept_in_order(shuffled: bool) -> tuple[pa.Table, pa.Table, list[int]]:
    """A release that keeps ages, made before anybody thought of households."""
    table = people()
    order = np.arange(table.num_rows)
    if shuffled:
        order = np.random.default_rng(4).permutation(table.num_rows)
    return table, table.select(["age", "sex"]).take(order), order.tolist()


def test_rows_in_order_show_who_lives_together() -> None:
    table, released, order = kept_in_order(shuffled=False)
    audit = coterie.audit(table, released, SCHEMA, order=order, attacks=["unit-linkage"])
    (finding,) = audit.findings
    assert finding.estimate.low > 0.4  # half of all neighbours in the table are of one home
    assert finding.baseline.value < 0.02
    assert str(finding.level) != "nothing"


def test_shuffled_rows_and_synthetic_rows_do_not() -> None:
    table, released, order = kept_in_order(shuffled=True)
    (finding,) = coterie.audit(table, released, SCHEMA, order=order, attacks=["unit-linkage"]).findings
    assert finding.estimate.low <= finding.baseline.high
    synthetic = coterie.protect(table, SCHEMA, method="dp-synthetic", epsilon=1)
    audit = coterie.audit(table, synthetic.table, SCHEMA, certificate=synthetic.certificate)
    assert "unit-linkage" in {missed.attack for missed in audit.not_run}


def test_without_a_unit_nobody_looks_for_one() -> None:
    table, released, _ = kept_in_order(shuffled=False)
    plain = SCHEMA.model_copy(update={"unit": None})
    audit = coterie.audit(table, released, plain, seconds=20)
    shown = {one.attack for one in (*audit.findings, *audit.not_run)}
    assert "unit-linkage" not in shown
