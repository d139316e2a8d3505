"""A whole release in memory against the practical limit: sorting the same values, same threads, same run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from benchmarks.processor import cpu_seconds
from benchmarks.ranking import mixed_table
from coterie import protect

METHODS = ("dp-ir", "idp-ls", "idp-cbls")


def run() -> Iterator[str]:
    rows = int(os.environ.get("COTERIE_BENCH_ROWS", "10000000"))
    table, schema = mixed_table(rows)
    columns = [column.to_numpy() for column in table.columns]
    protect(table.slice(0, 100_000), schema, method="idp-cbls", epsilon=1, k=10, seed=1)  # compile once
    limit = min(cpu_seconds(lambda: _sort(columns)) for _ in range(3))
    yield f"protect(): {rows:,} × {len(columns)}, seeded noise, {os.cpu_count()} cores; best of 3; np.sort: values only\n"
    yield "| | k | CPU seconds | CPU time over np.sort (wanted: 2.5) |"
    yield "|---|---|---|---|"
    yield f"| np.sort | – | {limit:.2f} | 1 |"
    for k in (10, 100):
        for method in METHODS:
            release = partial(protect, table, schema, method=method, epsilon=1, k=k, seed=1)
            took = min(cpu_seconds(release) for _ in range(3))
            yield f"| `{method}` | {k} | {took:.2f} | {took / limit:.2f} |"


def _sort(columns: list[np.ndarray]) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(np.sort, columns))
