"""MDAV against a naive reference that shares no code with it, and the properties every partition keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coterie.chain.partition.mdav import mdav, mdav_mixed
from coterie.errors import DataError, ParameterError


def naive_mdav(numeric, codes, distances, k):
    """The definition word for word: full scans, exact sums, Python tie-breaking."""
    n = len(numeric)

    def squared(left, numbers, labels):
        total, rows = np.zeros(len(left)), np.array(left, dtype=int)
        for j in range(numeric.shape[1]):
            total = total + (numeric[rows, j] - numbers[j]) ** 2
        for j, delta in enumerate(distances):
            total = total + delta[labels[j], codes[rows, j]] ** 2
        return total.tolist()

    def centroid(left):
        numbers = [math.fsum(column) / len(left) for column in numeric[np.array(left)].T.tolist()]
        labels = []
        for j, delta in enumerate(distances):
            counts = np.bincount(codes[left, j], minlength=len(delta))
            summed = [sum(int(c) * float(d) for c, d in zip(counts, row, strict=True)) for row in delta]
            labels.append(summed.index(min(summed)))
        return numbers, labels

    def farthest(left, numbers, labels):
        return min((-far, i) for far, i in zip(squared(left, numbers, labels), left, strict=True))[1]

    def take(left, leader):
        others = [i for i in left if i != leader]
        by_nearness = sorted(zip(squared(others, numeric[leader], codes[leader]), others, strict=True))
        group = [leader] + [i for _, i in by_nearness[: k - 1]]
        taken = set(group)
        return group, [i for i in left if i not in taken]

    left, groups = list(range(n)), []
    while len(left) >= 3 * k:
        r = farthest(left, *centroid(left))
        group, left = take(left, r)
        groups.append(group)
        group, left = take(left, farthest(left, numeric[r], codes[r]))
        groups.append(group)
    if len(left) >= 2 * k:
        group, left = take(left, farthest(left, *centroid(left)))
        groups.append(group)
    groups.append(left)
    labels = np.empty(n, int)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels


def naive_numeric(points, k):
    return naive_mdav(points, np.empty((len(points), 0), int), [], k)


def check_groups(clustering, n, k):
    assert clustering.labels.dtype == np.int32
    assert clustering.sizes.dtype == np.int64
    assert np.array_equal(np.bincount(clustering.labels), clustering.sizes)
    assert clustering.sizes.sum() == n
    assert clustering.sizes.min() >= k
    assert (clustering.sizes[:-1] == k).all()
    assert clustering.sizes[-1] < 2 * k


@st.composite
def tables(draw):
    n, d = draw(st.integers(1, 70)), draw(st.integers(1, 12))
    grid = st.integers(-2, 2).map(float)
    wide = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda v: round(v, 3))
    points = draw(arrays(np.float64, (n, d), elements=draw(st.sampled_from([grid, wide, st.just(3.5)]))))
    return points, draw(st.integers(1, n))


@settings(deadline=None, max_examples=150)
@given(tables())
def test_equals_the_naive_reference(table):
    points, k = table
    clustering = mdav(points, k)
    check_groups(clustering, len(points), k)
    assert np.array_equal(clustering.labels, naive_numeric(points, k))


def shapes(n, d, rng):
    centres = rng.normal(size=(6, d)) * 8
    yield "gaussian", rng.normal(size=(n, d))
    yield "uniform", rng.random((n, d))
    yield "clusters", centres[rng.integers(0, 6, n)] + rng.normal(size=(n, d))
    yield "heavy tails", rng.standard_cauchy((n, d))
    yield "grid", rng.integers(0, 4, (n, d)).astype(float)
    yield "binary", rng.integers(0, 2, (n, d)).astype(float)
    yield "far from the origin", 1e9 + rng.normal(size=(n, d))
    yield "constant columns", np.where(np.arange(d) % 2, 7.0, rng.integers(0, 30, (n, d)))
    yield "correlated", rng.normal(size=(n, 1)) + 1e-3 * rng.normal(size=(n, d))
    yield "two records alike", np.repeat(rng.normal(size=(-(-n // 2), d)), 2, axis=0)[:n]
    yield "one point", np.full((n, d), 0.1)


@pytest.mark.parametrize(("n", "d", "k"), [(300, 1, 4), (700, 3, 7), (1200, 8, 10), (900, 12, 3)])
def test_equals_the_naive_reference_on_every_shape(n, d, k):
    for name, points in shapes(n, d, np.random.default_rng(n)):
        assert np.array_equal(mdav(points, k).labels, naive_numeric(points, k)), name


def test_the_index_agrees_with_full_scans_on_larger_tables():
    """mdav_mixed looks at every distance; several rebuilds of the index lie in between here."""
    for d in (2, 8):
        for name, points in shapes(12_000, d, np.random.default_rng(d)):
            scanned = mdav_mixed(points, np.empty((len(points), 0), np.int32), [], 25)
            assert np.array_equal(mdav(points, 25).labels, scanned.labels), name


def test_ties_go_to_the_lowest_record():
    # A square: all corners are equally far from the centre, both neighbours equally near.
    square = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]])
    assert mdav(square, 2).labels.tolist() == [0, 1, 0, 1]


def test_negative_zero_is_zero():
    points = np.array([[0.0], [-0.0], [-0.0], [0.0], [5.0], [6.0]])
    assert np.array_equal(mdav(points, 2).labels, mdav(points + 0.0, 2).labels)


def test_small_tables():
    assert mdav(np.array([[1.0], [2.0], [9.0]]), 2).labels.tolist() == [0, 0, 0]
    assert mdav(np.array([[1.0], [2.0], [9.0], [8.0]]), 2).labels.tolist() == [0, 0, 1, 1]
    assert mdav(np.array([[4.0]]), 1).sizes.tolist() == [1]
    # Without attributes all records are alike, and only their numbers are left to go by.
    assert mdav_mixed(np.empty((5, 0)), np.empty((5, 0), np.int32), [], 2).labels.tolist() == [0, 0, 1, 1, 1]


@st.composite
def mixed_tables(draw):
    n, p, c = draw(st.integers(1, 45)), draw(st.integers(0, 3)), draw(st.integers(0, 3))
    numeric = draw(arrays(np.float64, (n, p), elements=st.integers(-3, 3).map(float)))
    codes, distances = np.empty((n, c), np.int32), []
    for j in range(c):
        labels = draw(st.integers(1, 5))
        delta = draw(arrays(np.float64, (labels, labels), elements=st.integers(0, 8).map(lambda v: v / 8)))
        delta = np.maximum(delta, delta.T)
        np.fill_diagonal(delta, 0)
        distances.append(delta)
        codes[:, j] = draw(arrays(np.int32, n, elements=st.integers(0, labels - 1)))
    return numeric, codes, distances, draw(st.integers(1, n))


@settings(deadline=None, max_examples=150)
@given(mixed_tables())
def test_mixed_equals_the_naive_reference(table):
    numeric, codes, distances, k = table
    clustering = mdav_mixed(numeric, codes, distances, k)
    check_groups(clustering, len(numeric), k)
    assert np.array_equal(clustering.labels, naive_mdav(numeric, codes, distances, k))


def test_categories_decide_where_numbers_do_not():
    delta = np.array([[0.0, 1], [1, 0]])
    codes = np.array([[0], [1], [0], [1]], np.int32)
    assert mdav_mixed(np.zeros((4, 1)), codes, [delta], 2).labels.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


@pytest.mark.parametrize("k", [0, -3, True, 2.0])
def test_impossible_group_size(k):
    with pytest.raises(ParameterError):
        mdav(np.zeros((5, 2)), k)


def test_fewer_records_than_k():
    with pytest.raises(ParameterError, match="larger than the number of records"):
        mdav(np.zeros((5, 2)), 6)
    with pytest.raises(ParameterError):
        mdav_mixed(np.zeros((5, 2)), np.empty((5, 0), np.int32), [], 6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_unusable_numbers_are_counted_not_shown(bad):
    with pytest.raises(DataError, match="1 records") as caught:
        mdav(np.array([[1.0, 2.0], [bad, 4.0]]), 1)
    assert not any(text in str(caught.value) for text in ("1e+200", "1e200", "4.0"))


def test_wrong_shapes():
    with pytest.raises(DataError):
        mdav(np.zeros(5), 2)
    with pytest.raises(DataError, match="no attribute"):
        mdav(np.empty((5, 0)), 2)
    with pytest.raises(DataError):
        mdav(np.array([["a"], ["b"]]), 2)  # type: ignore[arg-type]
