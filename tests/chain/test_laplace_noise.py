"""The noise has the right law: the right scale is accepted, scales 30 % off in either direction are rejected.

Kolmogorov–Smirnov at a fixed error rate. Secure noise cannot be seeded, so α = 1e-6 a test: one false alarm in a
million runs. Laplace laws whose scales differ by 30 % are at a distance sup|F - G| ≥ 0.048 (`test_power` computes it),
and the Dvoretzky–Kiefer–Wolfowitz inequality bounds the chance of missing that: SAMPLES makes it below 1e-6 too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from coterie import protect
from coterie.chain.mechanism.numeric import LaplaceOnCentroids
from coterie.chain.noise.sampler import Sampler, shuffled_order
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.partition.clustering import Clustering, summarise
from coterie.chain.partition.univariate import individual_ranking
from coterie.methods import all_methods

pytestmark = pytest.mark.statistical

ALPHA = 1e-6
SAMPLES = 25_000
OFF = (0.7, 1.3)
by_name = pytest.mark.parametrize("sampler", [SecureSampler(), SeededSampler(11)], ids=["secure", "seeded"])


def _accepts(noise: np.ndarray, scale: float | np.ndarray) -> bool:
    return bool(stats.kstest(noise / scale, stats.laplace.cdf).pvalue >= ALPHA)


def test_power() -> None:
    """The sample size is computed, not guessed: a wrong scale is missed with probability below 1e-6."""
    grid = np.linspace(0, 20, 200_001)
    for off in OFF:
        distance = np.abs(stats.laplace.cdf(grid) - stats.laplace.cdf(grid / off)).max()
        critical = stats.kstwo.isf(ALPHA, SAMPLES)
        missed = 2 * math.exp(-2 * SAMPLES * (distance - critical) ** 2)
        assert missed < 1e-6


@by_name
@pytest.mark.parametrize("scale", [1e-3, 1.0, 12_345.6])
def test_one_scale(sampler: Sampler, scale: float) -> None:
    noise = sampler.laplace(np.full(SAMPLES, 7 * scale), np.full(SAMPLES, scale), f"one {scale}") - 7 * scale
    assert _accepts(noise, scale)
    for off in OFF:
        assert not _accepts(noise, scale * off)


@by_name
def test_a_scale_for_every_cluster(sampler: Sampler) -> None:
    kinds = np.geomspace(0.01, 100, 25)  # a secure measurement is made for each distinct scale
    scales = np.tile(kinds, SAMPLES // len(kinds))
    centres = np.arange(len(scales), dtype=float)
    noise = sampler.laplace(centres, scales, "each") - centres
    assert _accepts(noise, scales)
    for off in OFF:
        assert not _accepts(noise, scales * off)
    # Had the scales been mixed up between clusters, the mixture would be rejected.
    assert not _accepts(noise, np.roll(scales, 1))


@by_name
def test_streams_and_neighbouring_clusters_are_independent(sampler: Sampler) -> None:
    one = sampler.laplace(np.zeros(SAMPLES), np.ones(SAMPLES), "one")
    two = sampler.laplace(np.zeros(SAMPLES), np.ones(SAMPLES), "two")
    pairs = {"streams": (one, two), "neighbours": (one[:-1], one[1:]), "sizes": (abs(one), abs(two))}
    for first, second in pairs.values():
        assert stats.kendalltau(first[:5000], second[:5000]).pvalue >= ALPHA
    # The test can fail: a hundredth of shared noise would pass, a fifth does not.
    assert stats.kendalltau(one[:5000], (0.8 * two + 0.2 * one)[:5000]).pvalue < ALPHA


RANKED = [
    name
    for name, method in all_methods().items()
    if isinstance(method.numeric, LaplaceOnCentroids)
    and method.numeric.bound is not None
    and not method.grouping.multivariate
]


@pytest.mark.parametrize("name", RANKED)
def test_every_method_draws_the_scale_of_its_formula(name: str, one_attribute: Any) -> None:
    """Through the chain: clusters in the middle of a wide domain, so that nothing is clipped."""
    method = all_methods()[name]
    mechanism = method.numeric
    assert isinstance(mechanism, LaplaceOnCentroids)
    assert mechanism.bound is not None
    k = method.fixed_k or 4
    clusters = 5000
    values = 50 + np.random.Generator(np.random.PCG64(3)).random(clusters * k)
    ranks = (
        Clustering(np.arange(clusters, dtype=np.int32), np.ones(clusters, dtype=np.int64))
        if method.fixed_k
        else individual_ranking(values, k)
    )
    depth = max(mechanism.centroid.depth, mechanism.bound.depth)
    summary = summarise(values, ranks, depth)
    schema = one_attribute(-1e6, 1e6)
    scales = mechanism.bound.compute(summary, schema["x"].bounds(), k) / 1000
    noise = []
    for seed in range(SAMPLES // clusters):
        options = {"method": name, "epsilon": 1000, "k": k, "seed": seed}
        by_cluster = np.empty(clusters)
        by_cluster[ranks.labels] = protect({"x": values}, schema, **options).data["x"]
        noise.append((by_cluster - mechanism.centroid.compute(summary)) / scales)
    drawn = np.concatenate(noise)
    assert _accepts(drawn, 1.0)
    for off in OFF:
        assert not _accepts(drawn, off)


def test_a_secure_release_has_one_draw_a_cluster(one_attribute: Any) -> None:
    values = np.sort(np.random.Generator(np.random.PCG64(1)).random(103))
    release = protect({"x": values}, one_attribute(-1e6, 1e6), method="dp-ir", epsilon=1, k=10, shuffle=False)
    released = np.array(release.data["x"])
    groups = [released[:90].reshape(9, 10), released[90:].reshape(1, 13)]
    assert all((group == group[:, :1]).all() for group in groups)
    assert len(set(released)) == 10


@by_name
def test_the_shuffle_is_uniform(sampler: Sampler) -> None:
    """Six orders of three rows, each a sixth of the time (χ² at α = 1e-6); seeded streams differ by seed."""
    draws = 6000
    counts: dict[tuple[int, ...], int] = {}
    for number in range(draws):
        source = SeededSampler(number) if isinstance(sampler, SeededSampler) else sampler
        order = tuple(int(row) for row in shuffled_order(source, 3))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue >= ALPHA
