"""What Spark remembers of its finished stages, for the simulation in `cluster`."""

from __future__ import annotations

from typing import Any

from benchmarks.cluster import Stage


def stages_after(spark: Any, last: int) -> tuple[list[Stage], list[list[float]], int]:
    """Finished stages with a greater number than `last`, in order; the seconds of their tasks; the greatest number."""
    store, jvm = spark.sparkContext._jsc.sc().statusStore(), spark.sparkContext._jvm
    none, quantiles = jvm.java.util.ArrayList(), spark.sparkContext._gateway.new_array(jvm.double, 0)
    listed = store.stageList(none, False, False, quantiles, none)
    stages = [listed.apply(place) for place in range(listed.size())]
    new = sorted((stage for stage in stages if stage.stageId() > last), key=lambda stage: stage.stageId())
    found, tasks = [], []
    for stage in new:
        if stage.status().toString() == "COMPLETE":
            found.append(_stage(stage))
            tasks.append(_task_seconds(store, stage))
    return found, tasks, max([last, *(stage.stageId() for stage in stages)])


def _stage(stage: Any) -> Stage:
    fetched, written = stage.shuffleReadBytes(), stage.shuffleWriteBytes()
    place = stage.name().rsplit("/", 1)[-1]
    signs = f"{'fetches, ' if fetched else ''}{'writes, ' if written else ''}{'reads' if stage.inputBytes() else ''}"
    return Stage(
        kind=f"{place} ({signs.rstrip(', ')})",
        tasks=stage.numTasks(),
        seconds=stage.executorRunTime() / 1e3,
        fetched=float(fetched),
        shuffled=bool(fetched) or "save" in place,
    )


def _task_seconds(store: Any, stage: Any) -> list[float]:
    listed = store.taskList(stage.stageId(), stage.attemptId(), 10_000)
    metrics = [listed.apply(place).taskMetrics() for place in range(listed.size())]
    return [one.get().executorRunTime() / 1e3 for one in metrics if one.isDefined()]
