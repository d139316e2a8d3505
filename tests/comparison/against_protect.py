"""A grid held against releases and evaluations of their own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from coterie import protect
from coterie.comparison.comparison import run_grid
from coterie.comparison.grid import make_grid
from coterie.evaluation import all_measures
from coterie.evaluation.evaluation import evaluate
from coterie.methods import all_methods
from coterie.schema.attributes import Schema


def same_as_protect(
    table: pa.Table,
    schema: Schema,
    methods: list[str],
    ks: list[int],
    epsilons: tuple[str, str] = ("0.3", "5"),
    *,
    summed: bool = False,
) -> None:
    """Every cell, run, measure and attribute of a grid against a release of its own, and an evaluation of its own."""
    everything = [name for name, measure in all_measures().items() if measure.attribute is not None]
    if summed:  # the measures for which the rows of long columns are never held
        everything = [name for name in everything if name != "sse-matched"]
    grid = make_grid(methods, epsilons, ks, runs=2, seed=11)
    found = run_grid(table, schema, grid, measures=everything).results
    assert {cell.method for cell in found.cells} == set(methods)
    for place, cell in enumerate(found.cells):
        recipe = all_methods()[cell.method]
        for run in range(2):
            k = None if recipe.fixed_k else cell.k
            release = protect(table, schema, method=cell.method, epsilon=cell.epsilon, k=k, seed=11 + run)
            expected = evaluate(
                table,
                release.table,
                schema,
                measures=list(found.values),
                shuffled=recipe.synthetic,
            )
            for name, values in found.values.items():
                measured = expected.measures[name]
                got = dict(zip(found.attributes, values[place, run], strict=True))
                assert {key for key, value in got.items() if not np.isnan(value)} == set(measured.attributes)
                for attribute, value in measured.attributes.items():
                    assert got[attribute] == pytest.approx(value, rel=1e-9, abs=1e-9), (cell, name, attribute)
                whole = found.of_table(name)[place, run]
                assert (
                    np.isnan(whole)
                    if measured.value is None
                    else whole == pytest.approx(measured.value, rel=1e-9, abs=1e-9)
                )
