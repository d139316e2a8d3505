"""One value in nine of ten rows against values that are all different: local, out of core, and on Spark.

CPU seconds, in turns, the best of three. COTERIE_BENCH_ROWS (1 million unless told); COTERIE_SPARK_ROWS=0
leaves Spark out.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.processor import tree_seconds
from coterie import Attribute, Domain, Role, Schema, protect
from coterie.engines.out_of_core.release import protect_file

LIMIT = 2.0
SCHEMA = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
OPTIONS: dict[str, Any] = {"method": "dp-ir", "epsilon": 1, "k": 10}


def run() -> Iterator[str]:
    yield "| engine | records | skewed over even | limit |"
    yield "|---|---|---|---|"
    rows = int(os.environ.get("COTERIE_BENCH_ROWS", 1_000_000))
    spark_rows = int(os.environ.get("COTERIE_SPARK_ROWS", rows))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ways: dict[str, tuple[int, Callable[[Path], object]]] = {
            "in memory": (rows, lambda path: protect(pq.read_table(path), SCHEMA, **OPTIONS)),
            "out of core": (rows, lambda path: out_of_core(path, folder / "scratch")),
        }
        if spark_rows:
            from coterie.engines.spark.session import session

            spark = session("local[2]")
            spark.conf.set("spark.sql.shuffle.partitions", "8")
            ways["Spark"] = (spark_rows, lambda path: on_spark(spark, path))
        for name, (count, way) in ways.items():
            even, skewed = write_pair(folder, count)
            yield f"| {name} | {count:,} | {ratio(way, even, skewed):.2f} | {LIMIT} |"


def write_pair(folder: Path, rows: int) -> tuple[Path, Path]:
    draw = np.random.Generator(np.random.PCG64(1))
    values = draw.random(rows)
    even, skewed = folder / "even.parquet", folder / "skewed.parquet"
    pq.write_table(pa.table({"x": values}), even, row_group_size=max(rows // 8, 1))
    values[draw.random(rows) < 0.9] = 0.0
    pq.write_table(pa.table({"x": values}), skewed, row_group_size=max(rows // 8, 1))
    return even, skewed


def ratio(way: Callable[[Path], object], even: Path, skewed: Path, repeats: int = 3) -> float:
    """CPU seconds of the skewed file over those of the even one."""
    way(even)  # loads the compiled code, starts workers
    taken: dict[Path, list[float]] = {even: [], skewed: []}
    for _ in range(repeats):
        for path in (even, skewed):
            start = tree_seconds()
            way(path)
            taken[path].append(tree_seconds() - start)
    return min(taken[skewed]) / min(taken[even])


def out_of_core(path: Path, scratch: Path) -> None:
    """Through buckets on disk: the memory allowed is little more than the program's own."""
    from coterie.engines.out_of_core.chain import warm_up
    from coterie.table.memory_limit import _LEAST, _READING, resident

    warm_up()
    limit = resident() + _READING + 2 * _LEAST
    release = protect_file(path, SCHEMA, memory=limit, scratch=scratch, **OPTIONS)
    release.table.read_all()
    release.scratch.discard()


def on_spark(spark: Any, path: Path) -> None:
    released = protect(spark.read.parquet(str(path)), SCHEMA, **OPTIONS).data
    released.write.format("noop").mode("overwrite").save()
    spark.catalog.clearCache()
