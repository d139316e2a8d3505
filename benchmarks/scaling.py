"""How the cost grows with records, attributes, k and cores; and what that makes of a billion × 50 on Spark.

Processor seconds, not wall-clock: they can be compared on a busy machine. COTERIE_SPARK_ROWS=1000000 measures Spark too.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.engines import local

BASE = {"records": 1_000_000, "attributes": 4, "k": 10}


def run() -> None:
    protect(*_table(60_000, 1), method="dp-ir", epsilon=1, k=10)  # loads the compiled code
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
    rows = int(os.environ.get("COTERIE_SPARK_ROWS", 0))
    if rows:
        _spark(rows)


def _protect(records: int, attributes: int, k: int) -> float:
    table, schema = _table(records, attributes)
    start = process_time()
    protect(table, schema, method="dp-ir", epsilon=1, k=k)
    return process_time() - start


def _table(records: int, attributes: int) -> tuple[pa.Table, Schema]:
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


def _spark(rows: int) -> None:
    from coterie.spark_session import session

    spark = session("local[2]")
    table, schema = _table(rows, 2)
    frame = spark.createDataFrame(table)
    start = perf_counter()
    released = protect(frame, schema, method="dp-ir", epsilon=1, k=10).data
    count = released.toArrow().num_rows
    seconds = perf_counter() - start
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    summaries = [executors.apply(number) for number in range(executors.size())]
    moved = sum(summary.totalShuffleWrite() for summary in summaries)
    busy = sum(summary.totalDuration() for summary in summaries) / 1000
    cells = count * 2
    print(
        f"Spark: {seconds:.0f} s, {busy:.0f} core-seconds, {busy / cells * 1e6:.2f} µs and "
        f"{moved / cells:.0f} bytes of shuffle a value"
    )
    print(estimate(10**9, 50, core_seconds=busy / cells, bytes_moved=moved / cells, nodes=20, cores=16))
    spark.stop()


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
