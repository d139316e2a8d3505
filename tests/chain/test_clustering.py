"""The local engine's verbs against a naive reference, on NumPy's way (small) and the compiled way (large)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from coterie.chain.partition import clustering as local
from coterie.chain.partition.clustering import Clustering, ClusterSummary, mean
from coterie.chain.partition.univariate import individual_ranking
from coterie.errors import ParameterError


@pytest.fixture(params=["plain", "compiled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Send small tables through both implementations."""
    monkeypatch.setattr(local, "_PLAIN_BELOW", 10**9 if request.param == "plain" else 0)
    return str(request.param)


def naive(values: NDArray[np.float64], clustering: Clustering, depth: int) -> ClusterSummary:
    members: list[list[float]] = [[] for _ in range(clustering.count)]
    for value, label in zip(values.tolist(), clustering.labels.tolist(), strict=True):
        members[label].append(value)
    total = np.zeros(clustering.count)
    for c, group in enumerate(members):
        for value in group:
            total[c] += value
    shape = (clustering.count, depth)
    low = np.array([sorted(group)[:depth] for group in members]).reshape(shape) + 0.0
    high = np.array([sorted(group)[::-1][:depth] for group in members]).reshape(shape) + 0.0
    return ClusterSummary(clustering.sizes, total, low, high)


def same_bits(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def any_clustering(seed: int, n: int, q: int) -> Clustering:
    """Not from ranking: clusters cut across the order of the values."""
    labels = np.random.default_rng(seed).permutation(np.arange(n) % q).astype(np.int32)
    return Clustering(labels, np.bincount(labels, minlength=q))


@pytest.mark.usefixtures("way")
class TestEitherWay:
    @pytest.mark.parametrize("depth", [0, 1, 3])
    @pytest.mark.parametrize(("n", "q"), [(3, 1), (10, 3), (1000, 7), (999, 333)])
    @pytest.mark.parametrize("kind", ["normal", "ties", "signed zeros"])
    def test_summary_equals_the_naive_one_bit_for_bit(self, kind: str, n: int, q: int, depth: int) -> None:
        generator = np.random.default_rng(n)
        values = {
            "normal": generator.normal(size=n) * 1e6,
            "ties": generator.integers(0, 4, n) / 10,
            "signed zeros": generator.choice([0.0, -0.0, 1.0], n),
        }[kind]
        clustering = any_clustering(q, n, q)
        found, expected = local.summarise(values, clustering, depth), naive(values, clustering, depth)
        assert found.low.shape[1] == depth
        for name in ("total", "low", "high"):
            assert same_bits(getattr(found, name), getattr(expected, name)), name
        assert found.size.tolist() == expected.size.tolist()

    def test_sums_are_in_record_order(self) -> None:
        values = np.array([1e16, 1.0, -1e16, 1.0])
        clustering = Clustering(np.zeros(4, np.int32), np.array([4]))
        assert local.summarise(values, clustering, 0).total.tolist() == [1.0]  # not 0, not 2

    def test_attach_gathers(self) -> None:
        clustering = Clustering(np.array([1, 0, 1], np.int32), np.array([1, 2]))
        assert local.attach(np.array([5.0, 6.0]), clustering).tolist() == [6.0, 5.0, 6.0]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=100), st.integers(3, 100))
def test_ranked_summary_bounds_its_mean(column: list[float], k: int) -> None:
    values = np.array(column)
    clustering = individual_ranking(values, min(k, len(column)))
    summary = local.summarise(values, clustering, 3)
    slack = 1e-6 * (1 + np.abs(mean(summary)))
    assert (summary.low[:, 0] - slack <= mean(summary)).all()
    assert (mean(summary) <= summary.high[:, 0] + slack).all()
    assert (np.diff(summary.low, axis=1) >= 0).all()
    assert (np.diff(summary.high, axis=1) <= 0).all()
    assert (summary.high[:-1, 0] <= summary.low[1:, 0]).all()  # clusters of one order do not overlap


def test_large_tables_take_the_compiled_way_and_agree() -> None:
    values = np.random.default_rng(1).normal(size=60_000)
    clustering = individual_ranking(values, 10)
    found = local.summarise(values, clustering, 3)
    expected = local._summarise_plainly(values, clustering, 3)
    for name in ("total", "low", "high"):
        assert same_bits(getattr(found, name), getattr(expected, name)), name
    np.testing.assert_array_equal(local.attach(mean(found), clustering), mean(found)[clustering.labels])


def test_bad_requests_are_refused() -> None:
    values = np.arange(4.0)
    pairs = individual_ranking(values, 2)
    with pytest.raises(ParameterError, match="depth 2"):
        local.summarise(values, pairs, 2)
    with pytest.raises(ParameterError, match="at least 3"):
        local.summarise(values, pairs, 3)
    with pytest.raises(ParameterError, match="do not fit"):
        local.summarise(values[:3], pairs, 1)
    with pytest.raises(ParameterError, match="do not fit"):
        local.attach(values, pairs)
