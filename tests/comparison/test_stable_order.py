"""Counting sixteen bits at a time gives the same order as comparing doubles, whatever the column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.comparison import ordering as counting
from coterie.comparison.ordering import stable_order

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TIED = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, 5e-324, -5e-324, 1e308, -1e308])


@pytest.fixture(autouse=True, scope="module")
def _count_always():
    """Short columns would be sorted by comparison."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_WORTH_COUNTING", 0)
        yield


@given(st.lists(FINITE | TIED, min_size=1, max_size=60))
def test_any_column(values: list[float]) -> None:
    column = np.array(values)
    np.testing.assert_array_equal(stable_order(column), np.argsort(column, kind="stable"))


@given(st.lists(st.lists(TIED, min_size=7, max_size=7), min_size=1, max_size=4))
def test_rows_are_sorted_by_themselves(rows: list[list[float]]) -> None:
    columns = np.array(rows)
    np.testing.assert_array_equal(stable_order(columns), np.argsort(columns, axis=1, kind="stable"))


def test_long_columns_of_every_kind() -> None:
    draw = np.random.Generator(np.random.PCG64(4))
    kinds = [draw.normal(0, 1e9, 3_000), draw.integers(-40, 40, 3_000), np.full(3_000, 0.1)]
    columns = np.array([kind.astype(np.float64) for kind in kinds])
    np.testing.assert_array_equal(stable_order(columns), np.argsort(columns, axis=1, kind="stable"))


def test_a_column_that_may_not_be_written_to() -> None:
    column = np.array([2.0, -0.0, 0.0, -3.0])
    column.flags.writeable = False
    assert stable_order(column).tolist() == [3, 1, 2, 0]
