"""Optimal univariate microaggregation against all partitions there are."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.chain.partition.univariate import optimal_univariate
from coterie.errors import DataError, ParameterError


def exact_sse(values):
    numbers = [Fraction(float(v)) for v in values]
    mean = sum(numbers) / len(numbers)
    return sum((v - mean) ** 2 for v in numbers)


def least_sse(values, k):
    """Exact minimum over all cuts of the sorted values into runs of at least k, with no upper size."""
    ordered = np.sort(values)

    @cache
    def best(end):
        if end == 0:
            return Fraction(0)
        choices = [
            best(start) + exact_sse(ordered[start:end])
            for start in range(end - k + 1)
            if start == 0 or start >= k
        ]
        return min(choices)

    return best(len(ordered))


def clustering_sse(values, labels):
    return sum(exact_sse(values[labels == g]) for g in np.unique(labels))


@settings(deadline=None, max_examples=120)
@given(
    st.lists(
        st.one_of(st.integers(-3, 3).map(float), st.floats(-1e5, 1e5).map(lambda v: round(v, 2))),
        min_size=1,
        max_size=22,
    ),
    st.integers(1, 6),
)
def test_no_partition_has_less_error(numbers, k):
    values = np.array(numbers)
    k = min(k, len(values))
    clustering = optimal_univariate(values, k)
    assert clustering.sizes.min() >= k
    assert clustering.sizes.max() <= max(2 * k - 1, 1)
    assert np.array_equal(np.bincount(clustering.labels), clustering.sizes)
    found, least = float(clustering_sse(values, clustering.labels)), float(least_sse(values, k))
    assert math.isclose(found, least, rel_tol=1e-9, abs_tol=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=60), st.integers(1, 9))
def test_groups_rise_with_the_value_and_ties_keep_record_order(numbers, k):
    values = np.array(numbers)
    labels = optimal_univariate(values, min(k, len(values))).labels
    in_order = labels[np.argsort(values, kind="stable")]
    assert (np.diff(in_order) >= 0).all()


def test_beats_equal_sizes_where_the_data_are_lumpy():
    values = np.array([0.0, 0.1, 0.2, 10.0, 10.1, 20.0, 20.1])
    assert optimal_univariate(values, 2).labels.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_a_far_outlier_does_not_blur_the_bulk():
    """The outlier's 1e20 swamps the errors of its neighbours in rank, but must not follow all the others."""
    lumps = np.repeat(np.arange(80) * 1e-6, 3) + np.tile([0.0, 1e-9, 2e-9], 80)
    labels = optimal_univariate(np.concatenate([[-1e10, -1e-3, -1e-3], lumps]), 2).labels
    # k = 2: three near ones form a group; cutting across two lumps would cost a thousand times more.
    bulk = labels[3:].reshape(80, 3)[25:]
    assert (bulk == bulk[:, :1]).all()
    assert len(np.unique(bulk)) == len(bulk)


def test_offset_does_not_matter():
    rng = np.random.default_rng(5)
    values = rng.integers(0, 10_000, 500).astype(float)
    shifted = optimal_univariate(values + 2.0**40, 4)
    assert np.array_equal(shifted.labels, optimal_univariate(values, 4).labels)


def test_k_of_one_and_of_all():
    assert optimal_univariate(np.array([3.0, 1.0, 2.0]), 1).labels.tolist() == [2, 0, 1]
    assert optimal_univariate(np.array([3.0, 1.0, 2.0]), 3).sizes.tolist() == [3]


@pytest.mark.parametrize("k", [0, 4, True])
def test_impossible_group_size(k):
    with pytest.raises(ParameterError):
        optimal_univariate(np.array([1.0, 2.0, 3.0]), k)


@pytest.mark.parametrize(
    "values", [np.array([1.0, np.nan]), np.array(["a", "b"]), np.zeros((2, 2)), np.float64(1)]
)
def test_unusable_values(values):
    with pytest.raises(DataError):
        optimal_univariate(values, 1)
