"""How the cost in memory grows with records, attributes, k and cores. (Spark's: benchmarks.spark.)

Processor seconds, not wall-clock: they can be compared on a busy machine.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.engines import local

BASE = {"records": 1_000_000, "attributes": 4, "k": 10}


def run() -> None:
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
            print(
                f"{name} = {choice:,}: {seconds:.2f} s of processor, {seconds / cells * 1e9:.0f} ns a value"
            )
    _cores()


def _protect(records: int, attributes: int, k: int) -> float:
    table, schema = uniform_table(records, attributes)
    start = process_time()
    protect(table, schema, method="dp-ir", epsilon=1, k=k)
    return process_time() - start


def uniform_table(records: int, attributes: int) -> tuple[pa.Table, Schema]:
    draw = np.random.Generator(np.random.PCG64(1))
    names = [f"a{number}" for number in range(attributes)]
    domain = Domain(lower=0, upper=1)
    schema = Schema(attributes=tuple(Attribute(name=n, role=Role.PROTECT, domain=domain) for n in names))
    return pa.table({name: draw.random(records) for name in names}), schema


def _cores() -> None:
    """Attributes are independent: two threads against one, interleaved."""
    draw = np.random.Generator(np.random.PCG64(2))
    columns = [draw.random(1_000_000) for _ in range(4)]
    ratios = []
    for _ in range(3):
        start = perf_counter()
        for column in columns:
            local.rank(column, 10)
        one = perf_counter() - start
        start = perf_counter()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda column: local.rank(column, 10), columns))
        ratios.append(one / (perf_counter() - start))
    print(f"cores: 2 threads are {max(ratios):.2f} times as fast as 1 (best of 3)")


def estimate(
    records: int,
    attributes: int,
    *,
    core_seconds: float,
    bytes_moved: float,
    nodes: int,
    cores: int,
    network: float = 1.25e9,
    efficiency: float = 0.5,
) -> str:
    """Work and traffic grow with the number of values; `efficiency` is the share of the cluster that really works."""
    cells = records * attributes
    compute = cells * core_seconds / (nodes * cores * efficiency)
    traffic = cells * bytes_moved / (nodes * network * efficiency)
    return (
        f"{records:,} × {attributes} on {nodes} nodes of {cores} cores and {network * 8 / 1e9:.0f} Gbit/s: "
        f"{compute / 60:.0f} min of work, {cells * bytes_moved / 1e12:.1f} TB of shuffle ({traffic / 60:.0f} min)"
    )
