"""Wrong or too small inputs end in a sentence, or in a result that says what it is not."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from attack_tables import mixed, mixed_schema, normals, normals_schema
from benchmarks.verdicts import SIZES, survey

from coterie import demo_population, demo_schema, protect
from coterie.auditing import audit_method, audit_release
from coterie.auditing.attacks import Clock, OutOfTime
from coterie.auditing.attacks.evidence import read_people, side_by_side
from coterie.auditing.auditing_method import hold_back
from coterie.auditing.relation import refuse_overlap
from coterie.errors import CoterieError, DataError, ParameterError, SchemaError

SCHEMA = normals_schema(3)
PEOPLE = normals(500, 3, 1)
RELEASED = protect(PEOPLE, SCHEMA, method="dp-ir", epsilon=1, k=10, seed=1).table


def test_unrelated_tables_are_called_so() -> None:
    draw = np.random.default_rng(2)
    stranger = pa.table({f"a{place}": draw.uniform(4, 6, 500) for place in range(3)})
    audit = audit_release(PEOPLE, stranger, SCHEMA)
    assert not audit.related
    assert "no relation" in audit.verdict
    assert any("not a release of that table" in note for note in audit.notes)
    assert {missed.attack for missed in audit.not_run} >= {"tie-linkage", "nearest-linkage"}


@pytest.mark.parametrize("method", ["dp-ir", "ir", "idp-cbls", "dp-synthetic"])
def test_related_tables_are_not_called_strangers(method: str) -> None:
    release = protect(
        PEOPLE, SCHEMA, method=method, epsilon=5, k=None if method == "dp-synthetic" else 10, seed=1
    )
    assert audit_release(PEOPLE, release.table, SCHEMA).related
    certified = audit_release(PEOPLE, release.table, SCHEMA, certificate=release.certificate)
    assert certified.related
    linked = certified.finding("nearest-linkage") is not None
    assert linked is (method != "dp-synthetic"), "no synthetic row stands for a person"


def test_rows_out_of_order_give_no_false_comfort() -> None:
    """Rounded together, so that ties do not give the order away: linkage is not scored rather than scored at chance."""
    people = demo_population(600)
    release = protect(people, demo_schema(), method="ir", epsilon=1, k=10, shuffle=True)
    audit = audit_release(people, release.data, demo_schema())
    assert audit.finding("nearest-linkage") is None
    assert any("shuffled or synthetic" in note for note in audit.notes)


def test_an_order_makes_shuffled_rows_scorable() -> None:
    people, draw = demo_population(600), np.random.default_rng(3)
    order = draw.permutation(600)
    release = protect(people, demo_schema(), method="ir", epsilon=1, k=10, seed=1).table.take(pa.array(order))
    audit = audit_release(people, release, demo_schema(), order=order.tolist(), attacks=["nearest-linkage"])
    assert audit.findings[0].estimate.low > 0.9


@pytest.mark.parametrize("order", [[0, 1], [0] * 500, list(range(1, 501))])
def test_an_order_that_does_not_fit(order: list[int]) -> None:
    with pytest.raises(DataError, match="must name every original row once"):
        audit_release(PEOPLE, RELEASED, SCHEMA, order=order)


def test_a_control_group_of_members_is_refused() -> None:
    overlapping = pa.concat_tables([normals(80, 3, 5), PEOPLE.slice(0, 20)])
    with pytest.raises(DataError, match="more of its rows stand in the original"):
        audit_release(PEOPLE, RELEASED, SCHEMA, control=overlapping)


def test_a_control_group_with_a_members_name_is_refused() -> None:
    people, schema = mixed(300, 1), mixed_schema()
    release = protect(people, schema, method="ir", epsilon=1, k=5, seed=1).table
    control = pa.concat_tables([mixed(100, 2), people.slice(7, 1)])
    with pytest.raises(DataError, match="people of the same 'name'") as caught:
        audit_release(people, release, schema, control=control)
    assert "person 1" not in str(caught.value)  # no value of the data


def test_rows_that_repeat_by_chance_are_no_overlap() -> None:
    """Few questions with few answers: nearly every row occurs again. (One of 17 such groups was refused.)"""
    for number in range(100):
        table, schema = survey(SIZES[number % len(SIZES)], 1000 + number)
        inside, outside = hold_back(table, number, schema)
        people, others = read_people(inside, schema), read_people(outside, schema)
        refuse_overlap(side_by_side(people, people, others, schema), inside, outside, schema)


@pytest.mark.parametrize("rows", [4, 12, 19])
def test_too_few_rows_for_any_interval(rows: int) -> None:
    people = normals(rows, 3, 7)
    released = protect(people, SCHEMA, method="dp-ir", epsilon=1, k=2, seed=1).table
    audit = audit_release(people, released, SCHEMA, in_order=True)
    assert any("too few for any interval" in note for note in audit.notes)
    assert {"tie-linkage", "nearest-linkage", "attribute-inference"} <= {n.attack for n in audit.not_run}


def test_a_tiny_control_group() -> None:
    audit = audit_release(PEOPLE, RELEASED, SCHEMA, control=normals(5, 3, 8))
    assert any("too small to compare with" in note for note in audit.notes)
    assert audit.finding("membership-distance") is None


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes whenever somebody looks."""
    ticks = itertools.count()
    monkeypatch.setattr(Clock.__init__, "__defaults__", (None, lambda: float(next(ticks))))


def test_a_spent_budget_gives_a_partial_result_that_says_so(ticking: None) -> None:
    clock = Clock(5)
    assert [clock.up for _ in range(6)] == [False] * 4 + [True] * 2
    with pytest.raises(OutOfTime):
        clock.check()
    audit = audit_release(PEOPLE, RELEASED, SCHEMA, control=normals(300, 3, 9), seconds=1e-9)
    assert not audit.complete
    assert not audit.findings
    assert len(audit.not_run) >= 8
    assert all("time budget" in missed.reason for missed in audit.not_run)


def test_some_attacks_fit_into_a_small_budget(ticking: None) -> None:
    people = normals(300, 4, 10)
    released = protect(people, normals_schema(4), method="dp-ir", epsilon=1, k=20, seed=1).table
    audit = audit_release(people, released, normals_schema(4), control=normals(100, 4, 11), seconds=40)
    assert not audit.complete
    assert audit.findings
    assert audit.not_run
    assert "time budget" in audit.verdict


def test_a_method_audit_within_a_budget(ticking: None) -> None:
    audit = audit_method("dp-ir", epsilon=1, k=10, seconds=3)
    assert not audit.complete
    assert any(missed.attack == "empirical-epsilon" for missed in audit.not_run)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"known": 1.5}, ParameterError, "share of known people"),
        ({"known": -0.1}, ParameterError, "share of known people"),
        ({"seconds": 0}, ParameterError, "time budget"),
        ({"attacks": ["nonsense"]}, ParameterError, "no attack 'nonsense'"),
    ],
)
def test_impossible_wishes(change: dict[str, object], error: type[CoterieError], words: str) -> None:
    with pytest.raises(error, match=words):
        audit_release(PEOPLE, RELEASED, SCHEMA, **change)  # type: ignore[arg-type]


def test_a_release_without_a_column() -> None:
    with pytest.raises(SchemaError, match="no column 'a2'"):
        audit_release(PEOPLE, RELEASED.drop_columns(["a2"]), SCHEMA)


def test_a_release_with_an_identifier() -> None:
    people, schema = mixed(100, 1), mixed_schema()
    with pytest.raises(SchemaError, match="'name' that should not be in it"):
        audit_release(people, people, schema)


def test_a_release_with_gaps() -> None:
    gaps = RELEASED.set_column(0, "a0", pa.array([None, *RELEASED["a0"].to_pylist()[1:]], pa.float64()))
    with pytest.raises(DataError, match="has missing values"):
        audit_release(PEOPLE, gaps, SCHEMA)


def test_a_release_of_another_size_is_still_attacked() -> None:
    audit = audit_release(PEOPLE, normals(700, 3, 12), SCHEMA, control=normals(400, 3, 13))
    assert audit.rows == 700
    assert audit.finding("membership-distance") is not None
    assert audit.finding("tie-linkage") is None
    assert any("no row belongs to a person" in note for note in audit.notes)


def test_values_outside_the_domain_are_taken_as_they_are() -> None:
    """Another tool's release: uncut noise, and fractions for integers."""
    people, schema = mixed(300, 1), mixed_schema()
    release = protect(people, schema, method="ir", epsilon=1, k=5, seed=1).table
    moved = release.set_column(0, "age", pa.array(np.array(release["age"].to_numpy(), dtype=float) * 3 - 0.5))
    assert audit_release(people, moved, schema).findings


def test_a_method_audit_wants_both_population_and_schema() -> None:
    with pytest.raises(ParameterError, match="belong together"):
        audit_method("dp-ir", epsilon=1, k=5, population=PEOPLE)
    with pytest.raises(ParameterError, match="100 runs"):
        audit_method("dp-ir", epsilon=1, k=5, runs=5)
    with pytest.raises(ParameterError, match="no method"):
        audit_method("dp-irr", epsilon=1, k=5)
