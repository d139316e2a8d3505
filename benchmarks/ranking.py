"""Individual ranking, values in → centroids out, against sorting the same values and against the obvious way.

COTERIE_BENCH_ROWS sets the number of rows (10 million unless told). All ways run over the columns in two
threads, interleaved, best of three, so that a noisy machine troubles them alike.
"""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie import Attribute, Domain, Role, Schema
from coterie.chain.partition import clustering as local
from coterie.chain.partition.clustering import mean
from coterie.chain.partition.univariate import individual_ranking

Column = NDArray[np.float64]
Way = Callable[[Column], object]
THREADS = 2
REPEATS = 3


def run() -> Iterator[str]:
    n = int(os.environ.get("COTERIE_BENCH_ROWS", "10_000_000"))
    columns = mixed_columns(n)
    yield f"{n:,} rows × {len(columns)} mixed columns, {THREADS} threads; best of {REPEATS}\n"
    yield "| | measured |"
    yield "|---|---|"
    ways: dict[str, Way] = {
        "np.sort": np.sort,
        "coterie k=10": lambda column: centroids(column, 10),
        "coterie k=100": lambda column: centroids(column, 100),
        "argsort k=10": lambda column: the_obvious_way(column, 10),
    }
    seconds = interleaved(ways, columns)
    seconds["np.sort alone"] = interleaved({"alone": np.sort}, columns, threads=1)["alone"]
    for name, taken in seconds.items():
        yield f"| {name}, seconds | {taken:.3f} |"
    for k, limit in ((10, 2.5), (100, 2.0)):
        ours = seconds[f"coterie k={k}"]
        beside, alone = ours / seconds["np.sort"], ours / seconds["np.sort alone"]
        yield f"| k={k}, time over np.sort (limit {limit}) | {beside:.2f} |"
        yield f"| k={k}, time over np.sort in one thread | {alone:.2f} |"
    yield f"| k=10, times as fast as argsort (limit 4) | {seconds['argsort k=10'] / seconds['coterie k=10']:.1f} |"
    yield f"| k=10, columns of memory per worker beside its result (limit 3) | {extra_memory(columns[0]):.2f} |"
    del columns
    yield "\n| hostile columns, k=10, one thread | time over np.sort (limit 8) | seconds | |"
    yield "|---|---|---|---|"
    pair: dict[str, Way] = {"sort": np.sort, "ours": lambda column: centroids(column, 10)}
    for name, column in hostile_columns(n):
        took = interleaved(pair, [column], threads=1)
        verdict = "right" if np.array_equal(centroids(column, 10), reference(column, 10)) else "WRONG"
        yield f"| {name} | {took['ours'] / took['sort']:.2f} | {took['ours']:.3f} | {verdict} |"


def centroids(values: Column, k: int) -> Column:
    clustering = individual_ranking(values, k)
    return local.attach(mean(local.summarise(values, clustering, 0)), clustering)


def the_obvious_way(values: Column, k: int) -> Column:
    order = np.argsort(values)
    starts = np.arange(len(values) // k) * k
    sizes = np.diff(np.append(starts, len(values)))
    out = np.empty(len(values))
    out[order] = np.repeat(np.add.reduceat(values[order], starts) / sizes, sizes)
    return out


def reference(values: Column, k: int) -> Column:
    """The exact result: ties and sums in record order."""
    n = len(values)
    labels = np.empty(n, np.int32)
    labels[np.argsort(values, kind="stable")] = np.minimum(np.arange(n) // k, n // k - 1)
    return (np.bincount(labels, weights=values) / np.bincount(labels))[labels]


def interleaved(ways: dict[str, Way], columns: list[Column], threads: int = THREADS) -> dict[str, float]:
    seconds = dict.fromkeys(ways, float("inf"))
    with ThreadPoolExecutor(threads) as pool:

        def over_columns(way: Way, chosen: list[Column]) -> None:
            for _ in pool.map(lambda column: way(column) is None, chosen):  # keeps no result alive
                pass

        for way in ways.values():
            over_columns(way, columns[:threads])  # compile, and touch the workspaces
        for _ in range(REPEATS):
            for name, way in ways.items():
                start = time.perf_counter()
                over_columns(way, columns)
                seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def extra_memory(column: Column) -> float:
    """Peak of what a fresh worker allocates beside the released column, in columns of 8 bytes per row."""
    arrow = pa.default_memory_pool()
    before = arrow.bytes_allocated()
    with ThreadPoolExecutor(1) as pool:
        tracemalloc.start()
        released = pool.submit(centroids, column, 10).result()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # In Arrow's pool: the released column and the workspace, which are still there, and the labels, which were.
        peak += arrow.bytes_allocated() - before + 4 * len(released)
    return peak / column.nbytes - 1


def mixed_columns(n: int) -> list[Column]:
    g = np.random.default_rng(20)
    return [
        g.normal(50, 15, n),
        np.round(g.lognormal(10, 1, n), 2),
        g.integers(0, 100, n).astype(float),
        np.where(g.random(n) < 0.9, 0.0, np.round(g.exponential(1e4, n))),
        g.random(n),
        np.round(g.normal(170, 10, n), 1),
        np.round(g.exponential(3e4, n)),
        g.lognormal(0, 2, n),
    ]


def mixed_table(rows: int) -> tuple[pa.Table, Schema]:
    columns = {f"a{number}": column for number, column in enumerate(mixed_columns(rows))}
    attributes = (
        Attribute(name=n, role=Role.PROTECT, domain=Domain(lower=float(c.min()), upper=float(c.max()) + 1))
        for n, c in columns.items()
    )
    return pa.table(columns), Schema(attributes=tuple(attributes))


def hostile_columns(n: int) -> Iterable[tuple[str, Column]]:
    g = np.random.default_rng(21)
    yield "constant", np.full(n, 3.0)
    yield "constant but for the last", np.append(np.full(n - 1, 3.0), 4.0)
    yield "signed zeros", g.choice([0.0, -0.0], n)
    yield "zeros and denormals", np.where(g.random(n) < 0.9, 0.0, 5e-324 * g.integers(0, 1000, n))
    yield "huge outlier, narrow bulk", np.append(1 + 1e-12 * g.normal(size=n - 1), 1e300)
    yield "all magnitudes, both signs", g.choice([-1.0, 1.0], n) * 10.0 ** g.uniform(-300, 300, n)
    yield "whole range", g.uniform(-1, 1, n) * 1.79e308
    yield "narrow bulk in every bucket", g.integers(0, 4096, n) + 1e-9 * g.random(n) ** 40
    yield "rising", np.arange(n, dtype=float)
    yield "falling", -np.arange(n, dtype=float)
    yield "organ pipe", np.minimum(np.arange(n), np.arange(n)[::-1]).astype(float)
