"""The fast grid gives what protect() and the measures give, for every method and every kind of attribute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_people import mixed_schema, mixed_table

from coterie.compare.comparison import compare
from coterie.compare.grid import make_grid
from coterie.methods import all_methods
from coterie.release import protect
from coterie.schema import Attribute, Domain, Role, Schema
from coterie.utility import all_measures
from coterie.utility.evaluation import evaluate


@pytest.mark.parametrize("method", list(all_methods()))
def test_same_numbers_as_protect_and_measure(method: str) -> None:
    table, schema = mixed_table(), mixed_schema()
    grid = make_grid([method], ["0.3", "5"], [3, 7, 60], runs=2, seed=11)
    everything = [name for name, measure in all_measures().items() if measure.attribute is not None]
    found = compare(table, schema, grid, measures=everything)
    assert found.results.cells
    for place, cell in enumerate(found.results.cells):
        for run in range(2):
            k = None if all_methods()[method].fixed_k else cell.k
            release = protect(table, schema, method=method, epsilon=cell.epsilon, k=k, seed=11 + run)
            synthetic = all_methods()[method].synthesis is not None
            names = list(found.results.values)
            expected = evaluate(table, release.table, schema, measures=names, shuffled=synthetic)
            for name, values in found.results.values.items():
                measured = expected.measures[name]
                got = dict(zip(found.results.attributes, values[place, run], strict=True))
                assert {key for key, value in got.items() if not np.isnan(value)} == set(measured.attributes)
                for attribute, value in measured.attributes.items():
                    assert got[attribute] == pytest.approx(value, rel=1e-9, abs=1e-9), (name, attribute)
                whole = found.results.of_table(name)[place, run]
                assert (
                    np.isnan(whole)
                    if measured.value is None
                    else whole == pytest.approx(measured.value, rel=1e-9, abs=1e-9)
                )


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
        "sse-004",
        "sse-matched",
        "relative-error",
        "jensen-shannon",
        "variance-change",
    ]
    found = compare({"x": values}, schema, make_grid([method], ["1"], [k], runs=1, seed=5), measures=numeric)
    release = protect({"x": values}, schema, method=method, epsilon="1", k=k, seed=5)
    expected = evaluate({"x": values}, release.data, schema, measures=list(found.results.values))
    for name in found.results.values:
        assert found.results.of_table(name)[0, 0] == pytest.approx(
            expected.measures[name].value, rel=1e-9, abs=1e-9
        )


def test_another_seed_gives_other_numbers() -> None:
    """The comparison above could not fail if noise played no part."""
    table, schema = mixed_table(), mixed_schema()
    one = compare(table, schema, make_grid(["dp-ir"], ["1"], [5], runs=1, seed=1))
    other = compare(table, schema, make_grid(["dp-ir"], ["1"], [5], runs=1, seed=2))
    assert one.results.of_table("sse")[0, 0] != other.results.of_table("sse")[0, 0]
    assert (
        one.results.of_table("semantic-distance")[0, 0] != other.results.of_table("semantic-distance")[0, 0]
    )


def test_run_r_of_a_seed_is_run_0_of_seed_plus_r() -> None:
    table, schema = mixed_table(), mixed_schema()
    three = compare(table, schema, make_grid(["idp-cbls"], ["1"], [5], runs=3, seed=4)).results
    last = compare(table, schema, make_grid(["idp-cbls"], ["1"], [5], runs=1, seed=6)).results
    np.testing.assert_array_equal(three.of_table("sse")[:, 2], last.of_table("sse")[:, 0])
