"""Individual ranking equals a stable sort on every column, however hostile, by both of its ways."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from coterie.chain.partition import _ranking_loops as _bins
from coterie.chain.partition import _ranking_loops as _buckets
from coterie.chain.partition import univariate as module
from coterie.chain.partition._compiled import for_reading
from coterie.chain.partition.univariate import individual_ranking
from coterie.errors import ParameterError

Column = NDArray[np.float64]
TINY = 5e-324
HUGE = float(np.finfo(np.float64).max)


def reference(values: Column, k: int) -> NDArray[np.int32]:
    n = len(values)
    order = sorted(range(n), key=lambda i: values[i])  # Python's sort is stable and knows -0.0 == 0.0
    labels = np.empty(n, np.int32)
    for place, i in enumerate(order):
        labels[i] = min(place // k, n // k - 1)
    return labels


PATTERNS: dict[str, Callable[[np.random.Generator, int], Column]] = {
    "normal": lambda g, n: g.normal(size=n),
    "ages": lambda g, n: g.integers(0, 100, n).astype(float),
    "two values": lambda g, n: g.choice([1.0, 2.0], n),
    "constant": lambda g, n: np.full(n, 7.0),
    "constant but for one": lambda g, n: np.append(np.full(n - 1, 7.0), 6.0),
    "mostly zero": lambda g, n: np.where(g.random(n) < 0.9, 0.0, g.exponential(size=n)),
    "mostly zero, rest denormal": lambda g, n: np.where(g.random(n) < 0.9, 0.0, TINY * g.integers(0, 99, n)),
    "signed zeros": lambda g, n: g.choice([0.0, -0.0, TINY, -TINY], n),
    "denormals": lambda g, n: TINY * g.integers(-1000, 1000, n),
    "outlier and narrow bulk": lambda g, n: np.append(1 + 1e-13 * g.integers(0, 2000, n - 1), 1e300),
    "both outliers and narrow bulk": lambda g, n: np.r_[
        HUGE, 1 + 1e-13 * g.normal(size=max(n - 2, 0)), -HUGE
    ][:n],
    "neighbouring floats": lambda g, n: (
        (np.int64(1) << 60).view(np.float64)
        + np.zeros(n)
        + np.spacing((np.int64(1) << 60).view(np.float64)) * g.integers(0, n + 1, n)
    ),
    "whole range": lambda g, n: g.uniform(-1, 1, n) * HUGE,
    "all magnitudes": lambda g, n: g.choice([-1.0, 1.0], n) * 10.0 ** g.uniform(-300, 300, n),
    "rising": lambda g, n: np.arange(n, dtype=float),
    "falling": lambda g, n: -np.arange(n, dtype=float),
    "negative": lambda g, n: -g.lognormal(sigma=3, size=n),
    "narrow bulk in each bucket": lambda g, n: g.integers(0, 64, n) + 1e-9 * g.random(n) ** 40,
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("n", [1, 2, 7, 1000, 30_000])
def test_both_ways_equal_a_stable_sort(pattern: str, n: int) -> None:
    values = PATTERNS[pattern](np.random.default_rng(n), n)
    for k in {1, 2, 3, 10, 100, n // 2, n - 1, n}:
        if 1 <= k <= n:
            expected = reference(values, k)
            np.testing.assert_array_equal(module._by_plain_sort(values, k), expected)
            np.testing.assert_array_equal(module._by_buckets(values, k), expected)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_large_columns_equal_a_stable_sort(pattern: str) -> None:
    n = 300_001
    values = PATTERNS[pattern](np.random.default_rng(5), n)
    for k in (1, 10, 1000):
        clustering = individual_ranking(values, k)
        np.testing.assert_array_equal(clustering.labels, module._by_plain_sort(values, k))
        np.testing.assert_array_equal(np.bincount(clustering.labels), clustering.sizes)


@pytest.mark.parametrize("pattern", ["all magnitudes", "normal", "mostly zero"])
def test_a_misleading_sample_is_sorted_in_place(pattern: str) -> None:
    """More straddling records in one bucket than there is room for."""
    values = PATTERNS[pattern](np.random.default_rng(2), 200_000)
    for k in (1, 10, 1000):
        expected = module._by_plain_sort(values, k)
        np.testing.assert_array_equal(label_with_splitters(values, k, np.full(8, 1e301), 2), expected)


awkward = st.sampled_from([0.0, -0.0, TINY, -TINY, 1.0, np.nextafter(1.0, 2.0), -1.0, HUGE, -HUGE, 1e-300])
anything = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=300, deadline=None)
@given(st.lists(awkward | anything, min_size=1, max_size=200), st.data())
def test_any_column_equals_a_stable_sort(column: list[float], data: st.DataObject) -> None:
    values = np.array(column)
    k = data.draw(st.integers(1, len(column)))
    expected = reference(values, k)
    np.testing.assert_array_equal(individual_ranking(values, k).labels, expected)
    np.testing.assert_array_equal(module._by_buckets(values, k), expected)


@settings(max_examples=200, deadline=None)
@given(st.lists(awkward | anything, min_size=1, max_size=120), st.lists(anything, max_size=7), st.data())
def test_a_bad_sample_costs_no_correctness(
    column: list[float], splitters: list[float], data: st.DataObject
) -> None:
    """Splitters that have nothing to do with the data: everything may land in one bucket."""
    values = np.array(column)
    k = data.draw(st.integers(1, len(column)))
    labels = label_with_splitters(values, k, np.array(splitters or [0.0]), 3)
    np.testing.assert_array_equal(labels, reference(values, k))


def test_a_tiny_bucket_with_a_large_cluster_boundary_inside() -> None:
    values = np.arange(1000.0)[::-1].copy()
    sample = np.array([0.0, 499.0, 501.0, 600.0])  # one bucket holds 499 and 500, the boundary between them
    np.testing.assert_array_equal(label_with_splitters(values, 500, sample, 2), reference(values, 500))


def label_with_splitters(values: Column, k: int, sample: Column, levels: int) -> NDArray[np.int32]:
    n = len(values)
    tree = _buckets.search_tree(sample, levels)
    ends, bucket = np.empty(len(tree), np.int64), np.empty(n, np.uint16)
    moved, record, labels = np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32)
    _buckets.distribute(for_reading(values), tree, levels, bucket, ends, moved, record)
    _bins.label_buckets(ends, moved, record, bucket, k, labels)
    return labels


@settings(max_examples=100, deadline=None)
@given(st.lists(awkward | st.integers(0, 3).map(float), min_size=1, max_size=80))
def test_heapsort_sorts_by_value_then_record(column: list[float]) -> None:
    values, records = np.array(column), np.arange(len(column), dtype=np.int32)
    expected = np.argsort(values, kind="stable")
    _bins._heapsort(values, records)
    np.testing.assert_array_equal(records, expected)


@given(st.integers(1, 300), st.integers(1, 300))
def test_sizes_are_k_and_the_last_takes_the_remainder(n: int, k: int) -> None:
    if n < k:
        n, k = k, n
    sizes = individual_ranking(np.zeros(n), k).sizes
    assert sizes.tolist() == [k] * (n // k - 1) + [k + n % k]


def test_clusters_are_numbered_by_rising_value() -> None:
    values = np.random.default_rng(0).normal(size=60_000)
    labels = individual_ranking(values, 7).labels
    assert (np.diff(labels[np.argsort(values)]) >= 0).all()


def test_read_only_and_strided_columns_are_accepted() -> None:
    table = np.random.default_rng(0).normal(size=(60_000, 2))
    table.flags.writeable = False
    np.testing.assert_array_equal(
        individual_ranking(table[:, 1], 10).labels, module._by_plain_sort(table[:, 1].copy(), 10)
    )


def test_columns_run_in_parallel_threads() -> None:
    generator = np.random.default_rng(3)
    columns = [PATTERNS[name](generator, 60_000 + 5000 * (i % 3)) for i, name in enumerate(PATTERNS)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda column: individual_ranking(column, 10).labels, columns))
    for column, labels in zip(columns, found, strict=True):
        np.testing.assert_array_equal(labels, module._by_plain_sort(column, 10))


@pytest.mark.parametrize(("n", "k"), [(3, 0), (3, -1), (3, 4), (0, 1)])
def test_impossible_k_is_refused(n: int, k: int) -> None:
    with pytest.raises(ParameterError):
        individual_ranking(np.zeros(n), k)


@pytest.mark.parametrize("pattern", ["normal", "ages", "mostly zero", "outlier and narrow bulk"])
def test_memory_stays_within_three_columns(pattern: str) -> None:
    n = 1_000_000
    values = PATTERNS[pattern](np.random.default_rng(1), n)
    individual_ranking(values[:60_000], 10)  # compile, and leave a small workspace behind
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    tracemalloc.start()
    clustering = individual_ranking(values, 10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Labels and workspace, which are still there, are Arrow's.
    assert len(clustering.labels) == n
    peak += pool.bytes_allocated() - before
    # tracemalloc does not see what compiled code allocates: tables of bins, and room for straddling records
    unseen = 16 * _bins._MOST_BINS + 12 * max(_bins._MOST_BINS, n // 16)
    assert peak + unseen <= 3 * 8 * n
