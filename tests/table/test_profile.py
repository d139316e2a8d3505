"""A first look at a column counts what is there, and points at what is odd."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.table.profile import BINS, ColumnProfile, profile_column


def profile(values: list[object] | pa.Array) -> ColumnProfile:
    return profile_column(pa.chunked_array([values if isinstance(values, pa.Array) else pa.array(values)]))


def test_few_values_get_a_bar_each() -> None:
    found = profile([1, 2, 2, 3, 3, 3, None])
    assert (found.distinct, found.missing, found.counts) == (3, 1, (1, 2, 3))
    assert found.words == "1 to 3"
    assert found.flags == ()


def test_many_numbers_are_binned_and_nobody_is_left_out() -> None:
    values = np.random.Generator(np.random.PCG64(1)).normal(size=5000)
    found = profile(pa.array([*values, 1e9, float("inf")]))
    assert len(found.counts) == BINS
    assert sum(found.counts) == 5001
    assert found.words.endswith("1 billion")


def test_labels_are_told_by_the_commonest() -> None:
    found = profile(["rural"] * 86 + ["urban"] * 14)
    assert found.counts == (86, 14)
    assert found.words == "rural 86 %"
    assert profile(pa.array(["a", "b", "a"]).dictionary_encode()).counts == (2, 1)


def test_what_is_odd_is_flagged() -> None:
    assert "looks like an id" in profile([f"person {n}" for n in range(30)]).flags[0]
    assert "points at one person" in profile([n * 1.5 for n in range(30)]).flags[0]
    assert profile([1, 2, 3, 4, 99] * 5).flags == ("Code 99 in 5 rows: “not stated”?",)
    assert profile([8, 9, 10, 11] * 5).flags == (), "a code among its neighbours is a value"
    assert profile(["x " * 40, "y " * 41] * 5).flags == ("Free text: it may name people",)
    assert profile(["same"] * 5).flags == ("Always the same value",)
    assert profile(pa.nulls(4)).flags == ("Every cell is empty",)
