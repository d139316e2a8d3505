"""The fast grid gives what protect() and the measures give, for every method and every kind of attribute."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from against_protect import same_as_protect
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_people import mixed_schema, mixed_table

from coterie import protect
from coterie.comparison import engine, shared_work
from coterie.comparison.comparison import run_grid
from coterie.comparison.engine import Trials, run_cells
from coterie.comparison.grid import Cell, make_grid
from coterie.comparison.shared_work import SortedTable
from coterie.evaluation import get_measure, jensen_shannon
from coterie.evaluation.evaluation import evaluate
from coterie.evaluation.measure import Settings
from coterie.methods import all_methods, get_method
from coterie.schema.attributes import Attribute, Domain, Role, Schema, Source
from coterie.table.checked import check


@pytest.mark.parametrize("method", list(all_methods()))
def test_same_numbers_as_protect_and_measure(method: str) -> None:
    same_as_protect(mixed_table(), mixed_schema(), [method], [3, 7, 60])


def test_methods_that_share_clusters_do_not_mix() -> None:
    """Sections hold methods with and without noise, by turns; a cell must get its own rows."""
    methods = ["ir", "dp-ir", "idp-cbls", "mdav", "idp-mdav", "dp-sorted", "dp-synthetic", "laplace"]
    same_as_protect(mixed_table(60), mixed_schema(), methods, [4, 9])


@pytest.mark.parametrize("methods", [["dp-ir", "laplace", "idp-mdav"], ["dp-sorted", "dp-synthetic"]])
def test_bounds_that_are_paid_for(methods: list[str]) -> None:
    """They differ from run to run and cut values off; measures hold the release against the values as they were."""
    table, schema = mixed_table(400), mixed_schema()
    age = Domain(lower=0, upper=1000, source=Source.DP)
    schema = Schema(
        attributes=tuple(
            a.model_copy(update={"domain": age, "weight": Fraction(400)}) if a.name == "age" else a
            for a in schema.attributes
        )
    )
    same_as_protect(table, schema, methods, [5, 20], ("20", "40"))


@pytest.mark.parametrize("paid", [False, True])
def test_values_that_the_schema_clips_are_measured_as_they_were(paid: bool) -> None:
    draw = np.random.default_rng(5)
    table = pa.table({"wild": draw.normal(0, 40, 400), "calm": draw.uniform(0, 9, 400)})
    calm = "lower: 0, upper: 100, source: dp" if paid else "lower: 0, upper: 10"
    schema = Schema.load(
        "attributes: {wild: {role: protect, domain: {lower: -50, upper: 50}, outside: clip}, "
        f"calm: {{role: protect, domain: {{{calm}}}}}}}\n"
    )
    same_as_protect(table, schema, ["laplace", "dp-ir", "mdav", "dp-synthetic"], [5, 40], ("20", "40"))


@pytest.mark.parametrize("value", [0.1, 7.0, -0.0])
def test_constant_columns(value: float) -> None:
    """The rounded mean of equal decimals must not pass for a variance."""
    table = pa.table({"same": [value] * 30, "other": np.linspace(0, 9, 30)})
    domain = Domain(lower=-10, upper=10)
    schema = Schema(
        attributes=tuple(Attribute(name=n, role=Role.PROTECT, domain=domain) for n in ("same", "other"))
    )
    same_as_protect(table, schema, ["laplace", "ir", "dp-ir", "idp-cbls"], [6, 29, 30])
    ranked = run_grid(table, schema, make_grid(["ir", "mdav"], ["1"], [3, 7], runs=1)).results
    assert not ranked.values["sse"][:, :, 0].any()
    assert not ranked.values["variance-change"][:, :, 0].any()
    noisy = protect(table, schema, method="laplace", epsilon=1, seed=1).table
    assert evaluate(table, noisy, schema, measures=["sse"]).measures["sse"].attributes["same"] == 1


def test_one_column_of_each_kind() -> None:
    table, schema = mixed_table(), mixed_schema()
    for name in ("income", "job", "grade"):
        single = Schema(attributes=(schema[name],))
        same_as_protect(table.select([name]), single, ["dp-ir", "idp-ls", "mdav", "dp-synthetic"], [5])


def test_a_table_too_long_to_be_measured_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows at a time, in threads, no draw kept: the numbers are the same."""
    table, schema = mixed_table(), mixed_schema()
    grid = make_grid(["laplace", "ir", "dp-ir", "idp-mdav", "dp-synthetic"], ["0.3", "5"], [3, 7], runs=3)
    together = run_grid(table, schema, grid).results
    monkeypatch.setattr(engine, "_AT_ONCE", 100)
    monkeypatch.setattr(shared_work, "_AT_ONCE", 1)
    monkeypatch.setattr(shared_work, "_KEPT", 0)
    monkeypatch.setattr(engine, "_WORTH_THREADS", 0)
    monkeypatch.setattr(jensen_shannon, "MOST_COUNTS", 300)
    apart = run_grid(table, schema, grid).results
    for name, values in together.values.items():
        np.testing.assert_allclose(apart.values[name], values, rtol=1e-12, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-50, 50).map(lambda v: round(v, 1)), min_size=6, max_size=60),
    st.integers(1, 6),
    st.sampled_from(["dp-ir", "idp-ls", "ir", "mdav"]),
)
def test_any_column_with_ties_and_signs(values: list[float], k: int, method: str) -> None:
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=-50, upper=50)),))
    k = max(k, all_methods()[method].minimum_k)
    numeric = [
        "sse",
        "sse-paper",
        "sse-sum",
        "sse-matched",
        "relative-error",
        "jensen-shannon",
        "variance-change",
    ]
    found = run_grid({"x": values}, schema, make_grid([method], ["1"], [k], runs=1, seed=5), measures=numeric)
    release = protect({"x": values}, schema, method=method, epsilon="1", k=k, seed=5)
    expected = evaluate({"x": values}, release.data, schema, measures=list(found.results.values))
    for name in found.results.values:
        assert found.results.of_table(name)[0, 0] == pytest.approx(
            expected.measures[name].value, rel=1e-9, abs=1e-9
        )


def test_groups_whose_sizes_follow_the_data() -> None:
    """Each column has its own: nothing can be measured side by side."""
    names = ["income", "age"]
    columns, schema = (
        mixed_table(200).select(names),
        Schema(attributes=tuple(mixed_schema()[n] for n in names)),
    )
    table = SortedTable(check(columns, schema).columns)
    cell, sse = Cell("dp-ir", 7, Fraction(2)), get_measure("sse")
    optimal = run_cells(
        table, [cell], Trials(2, 3, [sse], Settings()), lambda name: get_method(name).grouped("optimal")
    )
    (block,) = optimal
    for run in range(2):
        release = protect(columns, schema, method="dp-ir", epsilon=2, k=7, grouping="optimal", seed=3 + run)
        expected = evaluate(columns, release.data, schema, measures=["sse"]).measures["sse"].attributes
        assert block.values["sse"][0, run].tolist() == pytest.approx(list(expected.values()))


def test_another_seed_gives_other_numbers() -> None:
    """The comparison above could not fail if noise played no part."""
    table, schema = mixed_table(), mixed_schema()
    one = run_grid(table, schema, make_grid(["dp-ir"], ["1"], [5], runs=1, seed=1))
    other = run_grid(table, schema, make_grid(["dp-ir"], ["1"], [5], runs=1, seed=2))
    assert one.results.of_table("sse")[0, 0] != other.results.of_table("sse")[0, 0]
    assert (
        one.results.of_table("semantic-distance")[0, 0] != other.results.of_table("semantic-distance")[0, 0]
    )


def test_run_r_of_a_seed_is_run_0_of_seed_plus_r() -> None:
    table, schema = mixed_table(), mixed_schema()
    three = run_grid(table, schema, make_grid(["idp-cbls"], ["1"], [5], runs=3, seed=4)).results
    last = run_grid(table, schema, make_grid(["idp-cbls"], ["1"], [5], runs=1, seed=6)).results
    np.testing.assert_array_equal(three.of_table("sse")[:, 2], last.of_table("sse")[:, 0])
