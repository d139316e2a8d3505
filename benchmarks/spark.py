"""How Spark's cost grows with records, attributes, k and cores; what it moves; and what that makes of a billion × 50.

Seconds of processor of Java and Python together. COTERIE_SPARK_ROWS (1 million unless told) is the middle of the range.
A run costs something even without records (tasks, workers); the fit tells that from what a further value costs.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.processor import tree_seconds
from benchmarks.scaling import estimate, uniform_table
from coterie import protect
from coterie.spark_session import session

PARTITIONS = 8


def run() -> None:
    rows = int(os.environ.get("COTERIE_SPARK_ROWS", 1_000_000))
    base = {"records": rows, "attributes": 2, "k": 10}
    settings = [{**base, "records": rows // 4}, base, {**base, "records": 2 * rows}]
    settings += [{**base, "attributes": 1}, {**base, "attributes": 4}, {**base, "k": 100}]
    with tempfile.TemporaryDirectory() as folder:
        spark = _session("local[2]")
        _one(spark, Path(folder), 20_000, 2, 10)  # starts the workers
        measured = []
        for setting in settings:
            wall, used, moved = _one(spark, Path(folder), **setting)
            cells = setting["records"] * setting["attributes"]
            measured.append((setting, cells, used, moved))
            print(
                f"{setting['records']:,} × {setting['attributes']}, k = {setting['k']}: {wall:.1f} s, {used:.1f} s of "
                f"processor, {used / cells * 1e6:.2f} µs and {moved / cells:.0f} bytes of shuffle a value",
                flush=True,
            )
        spark.stop()
        alone = _session("local[1]")
        _one(alone, Path(folder), 20_000, 2, 10)
        wall, used, _ = _one(alone, Path(folder), **base)
        print(f"on one core: {wall:.1f} s, {used:.1f} s of processor")
        alone.stop()
    chosen = [(cells, used) for setting, cells, used, _ in measured if setting["k"] == 10]
    slope, start = np.polyfit(*zip(*chosen, strict=True), 1)
    moved_a_value = max(moved / cells for _, cells, _, moved in measured)
    print(f"fit: {start:.1f} s of processor to start, and {slope * 1e6:.2f} µs for each further value")
    print(estimate(10**9, 50, core_seconds=slope, bytes_moved=moved_a_value, nodes=20, cores=16))


def _session(master: str) -> Any:
    spark = session(master)
    spark.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _one(spark: Any, folder: Path, records: int, attributes: int, k: int) -> tuple[float, float, float]:
    """Seconds, seconds of processor, and bytes of shuffle: from a Parquet file to rows that nobody keeps."""
    table, schema = uniform_table(records, attributes)
    path = folder / f"{records}-{attributes}.parquet"
    pq.write_table(table, path, row_group_size=max(records // PARTITIONS, 1))
    before, start, used = _shuffled(spark), perf_counter(), tree_seconds()
    released = protect(spark.read.parquet(str(path)), schema, method="dp-ir", epsilon=1, k=k).data
    released.write.format("noop").mode("overwrite").save()
    taken = perf_counter() - start, tree_seconds() - used, _shuffled(spark) - before
    spark.catalog.clearCache()
    return taken


def _shuffled(spark: Any) -> float:
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    return float(sum(executors.apply(number).totalShuffleWrite() for number in range(executors.size())))
