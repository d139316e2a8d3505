"""Frequency ranking of Del Vasto-Terrientes et al., §5.1 and its twin with a public order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import DataError, ParameterError
from coterie.schema.taxonomy.semantics import decode, encode, frequency_order


def test_the_example_of_the_paper() -> None:
    # a1 (code 0) ten times, a2 (code 1) fifteen times: a2 ranks first; {a2, a2, a1} averages to 1/3 → a2.
    codes = np.repeat([0, 1], [10, 15])
    order = frequency_order(codes, 2)
    assert order.tolist() == [1, 0]
    mean = encode(np.array([1, 1, 0]), order).mean()
    assert mean == pytest.approx(1 / 3)
    assert decode(np.array([mean]), order).tolist() == [1]


def test_ties_and_absent_categories_follow_the_codes() -> None:
    assert frequency_order(np.array([3, 3, 1, 2]), 5).tolist() == [3, 1, 2, 0, 4]


def test_decode_rounds_halves_upwards_and_stays_inside() -> None:
    order = np.array([2, 0, 1])
    ranks = np.array([-1e9, -0.5, 0.49, 0.5, 1.5, 2.4, 2.6, 1e9])
    assert decode(ranks, order).tolist() == [2, 2, 2, 0, 1, 1, 1, 1]


@given(st.permutations(range(6)), st.lists(st.integers(0, 5)))
def test_decode_undoes_encode(order: list[int], values: list[int]) -> None:
    codes = np.array(values, dtype=np.int32)
    decoded = decode(encode(codes, np.array(order)), np.array(order))
    assert decoded.dtype == np.int32
    assert (decoded == codes).all()


@given(st.lists(st.integers(0, 5), min_size=1))
def test_frequency_falls_along_the_order(values: list[int]) -> None:
    counts = np.bincount(values, minlength=6)[frequency_order(np.array(values), 6)]
    assert (np.diff(counts) <= 0).all()


def test_the_frequency_order_depends_on_one_record() -> None:
    """Why GUARANTEES.md calls it refuted: the decode table itself changes between neighbours."""
    assert (frequency_order(np.array([0, 0, 1]), 2) != frequency_order(np.array([0, 1, 1]), 2)).all()


def test_wrong_orders_are_refused() -> None:
    with pytest.raises(ParameterError, match="twice"):
        encode(np.array([0]), np.array([0, 0]))
    with pytest.raises(DataError, match="Some records"):
        encode(np.array([0, 1, 1]), np.array([0]))
    with pytest.raises(DataError, match="Some records"):
        encode(np.array([0, 5]), np.array([1, 0]))
