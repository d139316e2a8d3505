"""Long columns are worked on a few rows at a time: the same numbers as protect() and the measures give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from against_protect import same_as_protect
from mixed_people import mixed_schema, mixed_table

from coterie import protect
from coterie.comparison import engine
from coterie.comparison.comparison import run_grid
from coterie.comparison.grid import make_grid
from coterie.errors import ParameterError
from coterie.evaluation import jensen_shannon
from coterie.evaluation.evaluation import evaluate
from coterie.evaluation.measure import Settings
from coterie.schema.attributes import Attribute, Domain, Role, Schema


def test_values_that_fall_inside_their_groups() -> None:
    """With little noise most do, and the error of each is split where it falls."""
    same_as_protect(mixed_table(300), mixed_schema(), ["dp-ir", "idp-cbls"], [30, 150], ("200", "5000"))


def test_a_category_with_one_label() -> None:
    """Nothing can be drawn, and there is no sensitivity to divide by."""
    table = pa.table({"country": ["DE"] * 40, "x": np.linspace(0, 9, 40)})
    schema = Schema.load(
        "attributes: {country: {type: categorical, role: protect, categories: {labels: [DE]}}, "
        "x: {role: protect, domain: {lower: 0, upper: 10}}}\n"
    )
    same_as_protect(table, schema, ["laplace", "dp-ir", "dp-mdav", "dp-sorted", "dp-synthetic", "mdav"], [6])


def test_moments_of_a_few_seconds() -> None:
    """Their numbers differ in the last digits only, which sums over many records must not lose."""
    second = np.random.default_rng(6).integers(0, 60, 20_000)
    table = pa.table({"at": pa.array((1_700_000_000 + second) * 1_000_000, pa.timestamp("us"))})
    schema = Schema.load(
        "attributes: {at: {type: timestamp, role: protect, "
        "domain: {lower: 2023-11-14T22:13:20, upper: 2023-11-14T22:14:20}}}\n"
    )
    grid = make_grid(["laplace", "ir", "dp-ir"], ["5"], [40], runs=1)
    found = run_grid(table, schema, grid, measures=["relative-error"]).results
    for cell, values in zip(found.cells, found.values["relative-error"], strict=True):
        k = None if cell.method == "laplace" else cell.k
        release = protect(table, schema, method=cell.method, epsilon=5, k=k, seed=0)
        expected = evaluate(table, release.table, schema, measures=["relative-error"])
        assert values.item() == pytest.approx(expected.measures["relative-error"].value, rel=1e-5), cell


@pytest.mark.parametrize("kind", ["auto", "domain", "value"])
def test_bins_of_every_kind(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Histograms that would be too large are counted a few rows at a time."""
    table, schema = mixed_table(200), mixed_schema()
    grid = make_grid(["dp-ir"], ["1", "30"], [7], runs=3)
    whole = run_grid(table, schema, grid, settings=Settings(bins=kind)).results.values["jensen-shannon"]
    monkeypatch.setattr(jensen_shannon, "MOST_COUNTS", 50)
    parts = run_grid(table, schema, grid, settings=Settings(bins=kind)).results.values["jensen-shannon"]
    np.testing.assert_array_equal(parts, whole)


def test_few_rows_of_a_long_column_are_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs of half the cells at once would not fit into the memory."""
    held: list[int] = []
    show = engine.ReleasedNumbers

    def watched(clusters: object, values: np.ndarray) -> object:
        held.append(values.size)
        return show(clusters, values)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "ReleasedNumbers", watched)
    monkeypatch.setattr(engine, "_AT_ONCE", 2_000)
    run_grid(mixed_table(200), mixed_schema(), make_grid(["laplace"], ["1", "2", "3", "4"], [1], runs=5))
    assert held
    assert max(held) <= 2_000


def test_a_column_that_is_long() -> None:
    """Nothing patched: two attributes in threads, against protect()."""
    draw = np.random.default_rng(8)
    table = pa.table({"x": np.round(draw.lognormal(9, 1, 50_003)), "y": draw.normal(0, 1, 50_003)})
    schema = Schema(
        attributes=tuple(
            Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=lower, upper=upper))
            for name, lower, upper in (("x", 0, 10**7), ("y", -20, 20))
        )
    )
    same_as_protect(table, schema, ["dp-ir", "laplace"], [7])


def test_a_complaint_reaches_the_caller_from_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_WORTH_THREADS", 0)
    schema = Schema(
        attributes=tuple(
            Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=0, upper=10**15)) for name in "xy"
        )
    )
    with pytest.raises(ParameterError, match="noise would be infinite"):
        run_grid(
            {"x": np.arange(40.0), "y": np.arange(40.0)},
            schema,
            make_grid(["dp-ir"], ["1e-299"], [5], runs=1),
        )
