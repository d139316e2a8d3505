"""A cluster simulated task by task, from what Spark's own stages cost here: for tables that cannot be run here.

Stages of one kind (the same line of our code, with or without a shuffle before or after it) share their costs: how many of
them there are grows with the attributes; the work of their tasks is a part for every task and a part for every value;
what they fetch grows with the values. Stages follow one another, as our engine runs them. A stage's tasks are handed
to the first free core; they last by a lognormal law with the spread that was measured, so that stragglers are in it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls


@dataclass(frozen=True, slots=True)
class Stage:
    """One finished stage of a run."""

    kind: str
    tasks: int
    seconds: float  # of all its tasks together
    fetched: float  # bytes of shuffle
    shuffled: bool  # its tasks are as many as partitions of a shuffle, not of the input


@dataclass(frozen=True, slots=True)
class Run:
    values: int
    attributes: int
    stages: Sequence[Stage]


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    shuffled: bool
    once: float  # stages whatever the table
    each: float  # stages for each attribute
    task: float  # seconds for every task
    value: float  # seconds for every value of the table
    fetched: float  # bytes for every value of the table

    def stages(self, attributes: int) -> int:
        return round(self.once + self.each * attributes)


@dataclass(frozen=True, slots=True)
class Cluster:
    nodes: int
    cores: int  # per node
    network: float  # bytes per second and node
    input_parts: int
    shuffle_parts: int
    stage_start: float = 0.1  # seconds of the driver before a stage's first task


def kinds_of(runs: Sequence[Run]) -> list[Kind]:
    names = {stage.kind: stage.shuffled for run in runs for stage in run.stages}
    found = []
    for name, shuffled in names.items():
        mine = [[stage for stage in run.stages if stage.kind == name] for run in runs]
        once, each = _line([run.attributes for run in runs], [len(stages) for stages in mine])
        tasks = [sum(stage.tasks for stage in stages) for stages in mine]
        work = np.array([sum(stage.seconds for stage in stages) for stages in mine])
        sides = np.column_stack([tasks, [run.values for run in runs]]).astype(float)
        (task, value), _ = nnls(sides, work)
        bytes_a_value = [
            sum(s.fetched for s in stages) / run.values for stages, run in zip(mine, runs, strict=True)
        ]
        found.append(Kind(name, shuffled, once, each, task, value, float(np.median(bytes_a_value))))
    return found


def _line(places: Sequence[float], heights: Sequence[float]) -> tuple[float, float]:
    sides = np.column_stack([np.ones(len(places)), places])
    (once, each), _ = nnls(sides, np.asarray(heights, dtype=float))
    return float(once), float(each)


def simulate(
    kinds: Sequence[Kind], values: float, attributes: int, cluster: Cluster, spread: float, seed: int = 1
) -> float:
    """Seconds on the clock."""
    draw = np.random.Generator(np.random.PCG64(seed))
    clock = 0.0
    for kind in kinds:
        count = kind.stages(attributes)
        for _ in range(count):
            parts = cluster.shuffle_parts if kind.shuffled else cluster.input_parts
            work = kind.task + kind.value * values / count / parts
            fetch = kind.fetched * values / count / parts / (cluster.network / cluster.cores)
            luck = np.exp(draw.normal(-(spread**2) / 2, spread, parts))
            clock += cluster.stage_start + makespan((work + fetch) * luck, cluster.nodes * cluster.cores)
    return clock


def makespan(durations: Sequence[float] | np.ndarray, cores: int) -> float:
    """Each task to the first free core, in order."""
    busy = [0.0] * min(cores, len(durations))
    for duration in durations:
        heapq.heapreplace(busy, busy[0] + float(duration))
    return max(busy)


def spread_of(tasks: Sequence[Sequence[float]]) -> float:
    """The standard deviation of log duration around its stage's mean, over tasks that had work: some get no records."""
    squares, free = 0.0, 0
    for stage in tasks:
        logs = [math.log(seconds) for seconds in stage if seconds > max(0.05, max(stage) / 10)]
        if len(logs) > 1:
            squares += float(np.var(logs)) * len(logs)
            free += len(logs) - 1
    return math.sqrt(squares / free) if free else 0.0
