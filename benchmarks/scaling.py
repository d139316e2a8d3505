"""How the cost in memory grows with records, attributes, k and cores. (Spark's: benchmarks.spark.)

CPU seconds, not wall-clock: they can be compared on a busy machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import getloadavg
from time import perf_counter

import numpy as np
import pyarrow as pa

from benchmarks.processor import cpu_seconds
from coterie import Attribute, Domain, Role, Schema, protect
from coterie.chain.partition.univariate import individual_ranking

ROUNDS = 3
BASE = {"records": 1_000_000, "attributes": 4, "k": 10}


def run() -> Iterator[str]:
    yield "| changed | to | CPU seconds | ns per value |"
    yield "|---|---|---|---|"
    protect(*uniform_table(60_000, 1), method="dp-ir", epsilon=1, k=10)  # loads the compiled code
    for name, choices in (
        ("records", (250_000, 1_000_000, 4_000_000)),
        ("attributes", (2, 4, 8)),
        ("k", (3, 10, 100, 1000)),
    ):
        for choice in choices:
            setting = {**BASE, name: choice}
            seconds = _protect(**setting)
            cells = setting["records"] * setting["attributes"]
            yield f"| {name} | {choice:,} | {seconds:.2f} | {seconds / cells * 1e9:.0f} |"
    if getloadavg()[0] < 1.5:  # a ratio of elapsed times says nothing on a busy machine
        yield f"\nTwo threads rank four attributes {_cores():.2f} times as fast as one (best of {ROUNDS})."


def _protect(records: int, attributes: int, k: int) -> float:
    release = partial(protect, *uniform_table(records, attributes), method="dp-ir", epsilon=1, k=k)
    return min(cpu_seconds(release) for _ in range(ROUNDS))


def uniform_table(records: int, attributes: int) -> tuple[pa.Table, Schema]:
    draw = np.random.Generator(np.random.PCG64(1))
    names = [f"a{number}" for number in range(attributes)]
    domain = Domain(lower=0, upper=1)
    schema = Schema(attributes=tuple(Attribute(name=n, role=Role.PROTECT, domain=domain) for n in names))
    return pa.table({name: draw.random(records) for name in names}), schema


def _cores() -> float:
    """Attributes are independent: two threads against one, interleaved."""
    draw = np.random.Generator(np.random.PCG64(2))
    columns = [draw.random(1_000_000) for _ in range(4)]
    ratios = []
    for _ in range(ROUNDS):
        start = perf_counter()
        for column in columns:
            individual_ranking(column, 10)
        one = perf_counter() - start
        start = perf_counter()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda column: individual_ranking(column, 10), columns))
        ratios.append(one / (perf_counter() - start))
    return max(ratios)
