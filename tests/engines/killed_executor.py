"""Run by test_executor_loss: a release on a cluster of two executors, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from coterie import Attribute, Domain, Role, Schema, protect

_SOME_FINISHED = (
    5  # stages are numbered as they begin; the buckets read what this many wrote, and a release has nine
)


def executors() -> list[int]:
    """Processes of executors that descend from this one."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    mine, before = {os.getpid()}, 0
    while len(mine) > before:
        before = len(mine)
        mine |= {int(pid) for pid, parent, _ in rows if int(parent) in mine}
    return [int(pid) for pid, _, what in rows if int(pid) in mine and "CoarseGrainedExecutorBackend" in what]


def main(folder: Path) -> None:
    values = np.random.Generator(np.random.PCG64(1)).random(200_000)
    pq.write_table(pa.table({"x": values}), folder / "in.parquet", row_group_size=20_000)
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.executor.memory", "768m")
    builder = builder.config("spark.sql.files.maxPartitionBytes", "300000")
    spark = builder.config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"]).getOrCreate()
    killed: list[int] = []

    def kill_one() -> None:
        """Once stages have finished, so that their shuffle files are lost with the executor."""
        while max(spark.sparkContext.statusTracker().getActiveStageIds(), default=0) < _SOME_FINISHED:
            time.sleep(0.05)
        victim = executors()[0]
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    while len(executors()) < 2:  # on a busy machine the second may come up when all is over
        time.sleep(0.2)
    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    options = {"method": "dp-ir", "epsilon": 1, "k": 10, "seed": 3}
    release = protect(spark.read.parquet(str(folder / "in.parquet")), schema, **options)
    released = release.data.toArrow()["x"].to_numpy()
    thread.join(timeout=60)
    expected = protect(pa.table({"x": values}), schema, **options).table["x"].to_numpy()
    print("KILLED", len(killed), "SAME", released.tolist() == expected.tolist())
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
