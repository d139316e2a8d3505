"""Long columns go through compiled loops: the same numbers as protect() and the measures give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from against_protect import same_as_protect as any_grid
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_people import mixed_schema, mixed_table

from coterie.chain.partition._compiled import for_reading
from coterie.comparison import batch, engine, groups, labels, long_rows, numbers, prepared, sorted_table
from coterie.comparison import ordering as stable_order
from coterie.comparison._ranked_loops import place_in, ranked_totals, whole_totals
from coterie.comparison.comparison import compare
from coterie.comparison.grid import make_grid
from coterie.comparison.long_rows import LongRows
from coterie.comparison.ordering import counted_order
from coterie.engines.in_memory import protect
from coterie.errors import ParameterError
from coterie.evaluation import clustered, jensen_shannon
from coterie.evaluation._column_loops import histogram, squares_around
from coterie.evaluation.evaluation import evaluate
from coterie.evaluation.measure import Settings
from coterie.schema.attributes import Attribute, Domain, Role, Schema

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TIED = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, 5e-324, -5e-324, 1e308, -1e308])
BY_RECORD_OR_GROUP = ["laplace", "idp", "ir", "dp-ir", "idp-cbls", "dp-um", "idp-mdav", "dp-mdav"]


def same_as_protect(*arguments: Any) -> None:
    """Once through the compiled loops, which must really be asked, and once with a measure that wants the values."""
    asked = []

    def add_up(long: LongRows, *given: Any) -> Any:
        asked.append(long)
        return plainly(long, *given)

    plainly = LongRows.add_up
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LongRows, "add_up", add_up)
        any_grid(*arguments, summed=True)
    assert asked
    any_grid(*arguments)


def call_long(patch: pytest.MonkeyPatch, records: int) -> None:
    for module in (batch, engine, groups, labels, prepared, stable_order, clustered, jensen_shannon):
        patch.setattr(module, "LONG", records)


@pytest.fixture
def every_column_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    call_long(monkeypatch, 1)
    monkeypatch.setattr(stable_order, "_WORTH_COUNTING", 0)
    monkeypatch.setattr(sorted_table, "_SIDE_BY_SIDE", 1)
    monkeypatch.setattr(sorted_table, "_AT_ONCE", 1)


@pytest.mark.usefixtures("every_column_is_long")
@pytest.mark.parametrize("records", [61, 1_500])  # within a block of the loops, and more than one
def test_same_numbers_as_protect_and_measure(records: int) -> None:
    same_as_protect(mixed_table(records), mixed_schema(), BY_RECORD_OR_GROUP, [4, 9])


@pytest.mark.usefixtures("every_column_is_long")
def test_cells_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little room that no two cells are worked on together."""
    monkeypatch.setattr(numbers, "_MOST_SCALES", 1)
    same_as_protect(mixed_table(61), mixed_schema(), ["dp-ir", "idp-cbls"], [4, 9])


@pytest.mark.usefixtures("every_column_is_long")
def test_values_that_fall_inside_their_groups() -> None:
    """With little noise most do, and the error of each is split where it falls."""
    same_as_protect(mixed_table(300), mixed_schema(), ["dp-ir", "idp-cbls"], [30, 150], ("200", "5000"))


@pytest.mark.usefixtures("every_column_is_long")
def test_values_that_the_schema_clips_are_measured_as_they_were() -> None:
    draw = np.random.default_rng(5)
    table = pa.table({"wild": draw.normal(0, 40, 400), "paid": draw.uniform(0, 9, 400)})
    schema = Schema.from_yaml(
        "attributes: {wild: {role: protect, domain: {lower: -50, upper: 50}, outside: clip}, "
        "paid: {role: protect, domain: {lower: 0, upper: 100, source: dp}}}\n"
    )
    same_as_protect(table, schema, ["laplace", "dp-ir", "idp-mdav"], [5, 40], ("20", "40"))


@pytest.mark.parametrize("long", [1, 10**9])
def test_a_category_with_one_label(monkeypatch: pytest.MonkeyPatch, long: int) -> None:
    """Nothing can be drawn, and there is no sensitivity to divide by."""
    call_long(monkeypatch, long)
    table = pa.table({"country": ["DE"] * 40, "x": np.linspace(0, 9, 40)})
    schema = Schema.from_yaml(
        "attributes: {country: {type: categorical, role: protect, categories: {labels: [DE]}}, "
        "x: {role: protect, domain: {lower: 0, upper: 10}}}\n"
    )
    any_grid(table, schema, ["laplace", "dp-ir", "dp-mdav", "dp-sorted", "dp-copula", "mdav"], [6])


@pytest.mark.usefixtures("every_column_is_long")
def test_a_constant_column_beside_another() -> None:
    table = pa.table({"same": [0.1] * 30, "other": np.linspace(0, 9, 30)})
    domain = Domain(lower=-10, upper=10)
    schema = Schema(
        attributes=tuple(Attribute(name=n, role=Role.PROTECT, domain=domain) for n in ("same", "other"))
    )
    same_as_protect(table, schema, ["laplace", "ir", "dp-ir"], [6, 29, 30])


@pytest.mark.parametrize("long", [1, 10**9])
def test_moments_of_a_few_seconds(monkeypatch: pytest.MonkeyPatch, long: int) -> None:
    """Their numbers differ in the last digits only, which sums over many records must not lose."""
    call_long(monkeypatch, long)
    monkeypatch.setattr(sorted_table, "_SIDE_BY_SIDE", 1)
    second = np.random.default_rng(6).integers(0, 60, 20_000)
    table = pa.table({"at": pa.array((1_700_000_000 + second) * 1_000_000, pa.timestamp("us"))})
    schema = Schema.from_yaml(
        "attributes: {at: {type: timestamp, role: protect, "
        "domain: {lower: 2023-11-14T22:13:20, upper: 2023-11-14T22:14:20}}}\n"
    )
    grid = make_grid(["laplace", "ir", "dp-ir"], ["5"], [40], runs=1)
    found = compare(table, schema, grid, measures=["relative-error"]).results
    for cell, values in zip(found.cells, found.values["relative-error"], strict=True):
        k = None if cell.method == "laplace" else cell.k
        release = protect(table, schema, method=cell.method, epsilon=5, k=k, seed=0)
        expected = evaluate(table, release.table, schema, measures=["relative-error"])
        assert values.item() == pytest.approx(expected.measures["relative-error"].value, rel=1e-5), cell


@pytest.mark.usefixtures("every_column_is_long")
def test_measures_that_need_the_values_get_few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs of half the cells at once would not fit into the memory."""
    made: list[int] = []
    values_of = numbers._values

    def watched(ready: numbers.Prepared, cells: slice, runs: slice) -> np.ndarray:
        values: np.ndarray = values_of(ready, cells, runs)
        made.append(values.size)
        return values

    monkeypatch.setattr(numbers, "_values", watched)
    monkeypatch.setattr(numbers, "_AT_ONCE", 400)
    grid = make_grid(["laplace"], ["1", "2", "3", "4"], [1], runs=5)
    for chosen in ({"measures": ["sse", "sse-matched"]}, {"settings": Settings(bins="value")}):
        monkeypatch.setattr(long_rows, "MOST_COUNTS", 50)
        compare(mixed_table(200), mixed_schema(), grid, **chosen)
        assert made
        assert max(made) <= 400
        made.clear()


@pytest.mark.usefixtures("every_column_is_long")
@pytest.mark.parametrize("most_counts", [50, 4_000_000])
@pytest.mark.parametrize("kind", ["auto", "domain", "value"])
def test_bins_of_every_kind(monkeypatch: pytest.MonkeyPatch, kind: str, most_counts: int) -> None:
    """Histograms that would be too large are counted from the values, a few rows at a time."""
    monkeypatch.setattr(long_rows, "MOST_COUNTS", most_counts)
    table, schema = mixed_table(200), mixed_schema()
    grid = make_grid(["dp-ir"], ["1", "30"], [7], runs=3)
    chosen = Settings(bins=kind)
    long = compare(table, schema, grid, settings=chosen).results.values["jensen-shannon"]
    call_long(monkeypatch, 10**9)
    short = compare(table, schema, grid, settings=chosen).results.values["jensen-shannon"]
    np.testing.assert_array_equal(long, short)


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


@pytest.mark.usefixtures("every_column_is_long")
def test_a_complaint_reaches_the_caller_from_its_thread() -> None:
    schema = Schema(
        attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=10**15)),)
    )
    with pytest.raises(ParameterError, match="noise would be infinite"):
        compare({"x": np.arange(40.0)}, schema, make_grid(["dp-ir"], ["1e-299"], [5], runs=1))


WHOLE = st.integers(-(2**53), 2**53).map(float) | st.integers(-3, 3).map(float) | st.just(-0.0)


@settings(deadline=None)
@given(st.lists(FINITE | TIED, min_size=1, max_size=60) | st.lists(WHOLE, min_size=1, max_size=60))
def test_the_order_of_any_column(values: list[float]) -> None:
    column = np.array(values)
    order, ranked = np.empty(len(column), dtype=np.int64), np.full(len(column), np.nan)
    if not counted_order(column, order, ranked):
        return  # NumPy sorts it
    np.testing.assert_array_equal(order, np.argsort(column, kind="stable"))
    np.testing.assert_array_equal(ranked, column[order])
    assert not np.signbit(ranked[ranked == 0]).any()


@settings(deadline=None)
@given(st.lists(WHOLE | st.just(0.5), min_size=1, max_size=40), st.integers(1, 40))
def test_sums_of_whole_numbers_do_not_need_the_order_of_records(values: list[float], k: int) -> None:
    """They are taken only where they are the same to the last bit as sums in the order of records."""
    column, k = np.array(values), min(k, len(values))
    order = np.argsort(column, kind="stable")
    rank = np.empty(len(column), dtype=np.int32)
    place_in(order, rank)
    np.testing.assert_array_equal(rank[order], np.arange(len(column)))
    expected, found = np.zeros((2, len(column) // k))
    ranked_totals(for_reading(column), rank, k, expected)
    exact = whole_totals(column[order] + 0.0, k, found)
    if exact:
        np.testing.assert_array_equal(found, expected)
    small = np.abs(column).max() * (2 * k - 1) < 2**53
    assert exact or not small or 0.5 in column
    assert not (exact and 0.5 in column)


def test_rising_values_are_counted_by_the_block() -> None:
    draw = np.random.Generator(np.random.PCG64(9))
    column = np.clip(draw.lognormal(0, 1, 60_001), 0, 30)
    for bins in ((0.0, 100 / 30, 99.0, False), (0.0, 1.0, 30.0, True), (0.0, 1e4, 299_999.0, False)):
        counts = np.zeros((2, int(bins[2]) + 1), dtype=np.int64)
        histogram(for_reading(column), False, bins, counts[0])
        histogram(for_reading(np.sort(column)), True, bins, counts[1])
        place = (
            np.rint(column) if bins[3] else np.floor(np.minimum((column - bins[0]) * bins[1], bins[2]))
        ).astype(int)
        np.testing.assert_array_equal(counts[0], np.bincount(place, minlength=counts.shape[1]))
        np.testing.assert_array_equal(counts[1], counts[0])


def test_equal_values_have_no_variance() -> None:
    """The mean of equal decimals is rounded, and would leave some."""
    column = np.full(60_000, 0.1)
    assert squares_around(for_reading(column), column.mean() + 1e-12) == 0
    column[7] = 0.2
    assert squares_around(for_reading(column), column.mean()) == pytest.approx(column.var() * 60_000)


@pytest.mark.parametrize("near", [20, 5_000])
def test_values_that_differ_in_bits_that_do_not_fit(near: int) -> None:
    """An enormous value and many that differ in their last bits: few are settled, many are left to NumPy."""
    draw = np.random.default_rng(3)
    column = draw.normal(0, 1e9, 60_000)
    column[:near] = 1 + draw.permutation(near) * 2.0**-52
    column[-1] = 1e300
    room = np.empty(len(column), dtype=np.int64), np.empty(len(column))
    assert counted_order(column, *room) == (near == 20)
    np.testing.assert_array_equal(stable_order.stable_order(column), np.argsort(column, kind="stable"))


def test_the_order_of_a_long_column_of_every_kind() -> None:
    draw = np.random.Generator(np.random.PCG64(4))
    kinds = [draw.normal(0, 1e9, 60_000), draw.integers(-40, 40, 60_000), np.full(60_000, 0.1)]
    columns = np.array([kind.astype(np.float64) for kind in kinds])
    columns.flags.writeable = False
    expected = np.argsort(columns, axis=1, kind="stable")
    np.testing.assert_array_equal(stable_order.stable_order(columns), expected)
    np.testing.assert_array_equal(stable_order.stable_order(columns[0]), expected[0])
    for found, rows in zip(stable_order.in_order(columns), (expected, np.sort(columns)), strict=True):
        np.testing.assert_array_equal(found, rows)
