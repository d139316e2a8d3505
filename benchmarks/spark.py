"""How Spark's cost grows with records, attributes, k and cores; what it moves; and what that makes of a billion × 50.

CPU seconds of Java and Python together. COTERIE_SPARK_ROWS (1 million unless told) is a tenth of the largest table.
A run costs something even without records (tasks, workers); the fit tells that from what a further value costs.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.cluster import Cluster, Kind, Run, kinds_of, simulate, spread_of
from benchmarks.processor import tree_seconds
from benchmarks.scaling import uniform_table
from benchmarks.spark_stages import stages_after
from coterie import protect
from coterie.engines.spark.session import session

PARTITIONS = 8
HERE = Cluster(nodes=1, cores=2, network=float("inf"), input_parts=2, shuffle_parts=PARTITIONS)
RENTED = Cluster(nodes=20, cores=16, network=1.25e9, input_parts=1920, shuffle_parts=1920)
BILLION, FIFTY = 10**9, 50
COLUMNS, PASSES = 15, 4  # of a synthetic release


def run() -> Iterator[str]:
    yield "| records × attributes, k | seconds | CPU seconds | µs per value | bytes shuffled per value |"
    yield "|---|---|---|---|---|"
    rows = int(os.environ.get("COTERIE_SPARK_ROWS", 1_000_000))
    base = {"records": rows, "attributes": 2, "k": 10}
    settings = [{**base, "records": rows // 4}, base, {**base, "attributes": 1}, {**base, "attributes": 4}]
    settings += [{**base, "k": 100}, {**base, "records": 10 * rows, "attributes": 4}]
    with tempfile.TemporaryDirectory() as folder:
        spark = _session("local[2]")
        _one(spark, Path(folder), 20_000, 2, 10)  # starts the workers
        measured, runs, walls, tasks = [], [], [], []
        last = stages_after(spark, -1)[2]
        for setting in settings:
            wall, used, moved = _one(spark, Path(folder), **setting)
            cells = setting["records"] * setting["attributes"]
            measured.append((setting, cells, used, moved))
            stages, seconds, last = stages_after(spark, last)
            runs.append(Run(cells, setting["attributes"], stages))
            walls.append(wall)
            tasks += seconds
            yield (
                f"| {setting['records']:,} × {setting['attributes']}, {setting['k']} | {wall:.1f} | {used:.1f} "
                f"| {used / cells * 1e6:.2f} | {moved / cells:.1f} |"
            )
        counted = _counting(spark, Path(folder), rows)
        spark.stop()
        alone = _session("local[1]")
        _one(alone, Path(folder), 20_000, 2, 10)
        wall, used, _ = _one(alone, Path(folder), **base)
        yield f"| {rows:,} × 2, 10, on one core | {wall:.1f} | {used:.1f} | {used / rows / 2 * 1e6:.2f} | |"
        alone.stop()
    chosen = [(cells, used) for setting, cells, used, _ in measured if setting["k"] == 10]
    slope, start = np.polyfit(*zip(*chosen, strict=True), 1)
    tasks_of_one = sum(stage.tasks for stage in runs[1].stages)
    moved_a_value = max(moved / cells for _, cells, _, moved in measured)
    yield (
        f"\nA straight line through those of k = 10: **{start:.1f} CPU seconds to start** (Java's compiler, Python "
        f"workers, some {tasks_of_one} tasks), **and {slope * 1e6:.2f} µs for each further value**.\n"
    )
    yield (
        f"`dp-synthetic` reads {COLUMNS} columns {PASSES} times, once to check and {PASSES - 1} times to count: "
        f"**{counted * 1e6:.2f} µs per further value and pass** (wanted: 0.15).\n"
    )
    kinds, spread = kinds_of(runs), spread_of(tasks)
    simulated = [simulate(kinds, run.values, run.attributes, HERE, spread) for run in runs]
    ratios = [guess / wall for guess, wall in zip(simulated, walls, strict=True)]
    yield (
        f"The simulation (`benchmarks/cluster.py`: {len(kinds)} kinds of stages, a spread of {spread:.2f} in the log of "
        f"a task's time) gives {min(ratios):.2f} to {max(ratios):.2f} of the times measured above. "
        + _billion(kinds, spread, moved_a_value)
    )


def _counting(spark: Any, folder: Path, rows: int) -> float:
    """CPU seconds per further value and pass until the model of `dp-synthetic` is drawn."""
    used = []
    for records in (rows // 4, 2 * rows):
        table, schema = uniform_table(records, COLUMNS)
        path = folder / f"counted-{records}.parquet"
        pq.write_table(table, path, row_group_size=max(records // PARTITIONS, 1))
        start = tree_seconds()
        protect(spark.read.parquet(str(path)), schema, method="dp-synthetic", epsilon=1)
        used.append(tree_seconds() - start)
        spark.catalog.clearCache()
    return (used[1] - used[0]) / ((2 * rows - rows // 4) * COLUMNS * PASSES)


def _billion(kinds: list[Kind], spread: float, moved: float) -> str:
    values = BILLION * FIFTY
    minutes = sorted(simulate(kinds, values, FIFTY, RENTED, spread, seed) / 60 for seed in range(5))
    least, most = f"{minutes[0]:.0f}", f"{minutes[-1]:.0f}"
    about = f"about {most}" if least == most else f"{least} to {most}"
    return (
        f"For a billion × 50 on {RENTED.nodes} nodes of {RENTED.cores} cores and {RENTED.network * 8 / 1e9:.0f} Gbit/s it "
        f"gives **{about} minutes** and {values * moved / 1e12:.1f} TB of shuffle in all, "
        f"{values * moved / RENTED.nodes / 1e9:.0f} GB per node."
    )


def _session(master: str) -> Any:
    spark = session(master)
    spark.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _one(spark: Any, folder: Path, records: int, attributes: int, k: int) -> tuple[float, float, float]:
    """Seconds, CPU seconds, and bytes of shuffle: from a Parquet file to rows that nobody keeps."""
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
