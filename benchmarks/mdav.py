"""MDAV and its companions: CPU seconds, and ratios to a full scan and to sorting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.processor import cpu_seconds
from coterie.chain.partition.mdav import mdav, mdav_mixed
from coterie.chain.partition.univariate import optimal_univariate

# Seconds for 100,000 × 8 by k, from before we started and perhaps another machine: no ratio is claimed.
SDC_MICRO = {10: 31.0, 3: 99.0}


def _tables(n: int, d: int, rng: np.random.Generator) -> Iterator[tuple[str, NDArray[np.float64]]]:
    centres = rng.normal(size=(20, d)) * 8
    yield "gaussian", rng.normal(size=(n, d))
    yield "uniform", rng.random((n, d))
    yield "clustered", centres[rng.integers(0, 20, n)] + rng.normal(size=(n, d))
    yield "heavy tails", rng.standard_cauchy((n, d))
    yield "grid of 5 values", rng.integers(0, 5, (n, d)).astype(float)
    yield "binary", rng.integers(0, 2, (n, d)).astype(float)
    yield "one point", np.ones((n, d))


def _scan(points: NDArray[np.float64], k: int) -> object:
    return mdav_mixed(points, np.empty((len(points), 0), np.int32), [], k)


def run() -> Iterator[str]:
    yield "| | measured |"
    yield "|---|---|"
    rng = np.random.default_rng(1)
    warm = rng.normal(size=(500, 8))
    mdav(warm, 5), _scan(warm, 5), optimal_univariate(warm[:, 0], 5)
    for n in (10_000, 50_000):
        points = rng.normal(size=(n, 8))
        # Interleaved, and the quickest of three each: caches and clocks change alike for both.
        ways = partial(_scan, points, 10), partial(mdav, points, 10)
        pairs = [[cpu_seconds(way) for way in ways] for _ in range(3)]
        scan, index = (min(times) for times in zip(*pairs, strict=True))
        yield f"| mdav {n:,} × 8, k = 10, times as fast as a full scan | {scan / index:.1f} |"
    for k, peer in SDC_MICRO.items():
        for name, points in _tables(100_000, 8, rng):
            taken = cpu_seconds(lambda points=points, k=k: mdav(points, k))  # type: ignore[misc]
            yield f"| mdav 100,000 × 8, k = {k}, {name}, CPU seconds (sdcMicro, another day: {peer:.0f}) | {taken:.2f} |"
    points = rng.normal(size=(1_000_000, 8))
    yield f"| mdav 1,000,000 × 8, k = 10, gaussian, CPU seconds | {cpu_seconds(lambda: mdav(points, 10)):.1f} |"
    labels = np.stack([rng.integers(0, 14, 50_000), rng.integers(0, 41, 50_000)], axis=1).astype(np.int32)
    deltas = [1.0 - np.eye(14), 1.0 - np.eye(41)]
    taken = cpu_seconds(lambda: mdav_mixed(points[:50_000, :2], labels, deltas, 10))
    yield f"| mdav_mixed 50,000 × (2 + 2), k = 10, CPU seconds | {taken:.2f} |"
    values = rng.normal(size=10_000_000)
    sorting = cpu_seconds(lambda: np.argsort(values, kind="stable"))
    taken = cpu_seconds(lambda: optimal_univariate(values, 10))
    yield f"| optimal_univariate 10,000,000, k = 10, CPU seconds | {taken:.1f} |"
    yield f"| the same, CPU time over a stable argsort | {taken / sorting:.2f} |"
