"""Numeric attributes of a section: centroids and bounds once a method, then one multiplication and clipping a row.

A row is what one run of one cell releases for the clusters. Rows are made and measured a cacheful at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.sampler import laplace_scales
from coterie.comparison.batch import Batch
from coterie.comparison.long_rows import LongRows
from coterie.comparison.prepared import Prepared, prepare
from coterie.comparison.section import CORES, Section, Step, Task
from coterie.evaluation.released import Released

Floats = NDArray[np.float64]
_MOST_SCALES = 4_000_000  # scales of noise held at a time for a long column, and as many centroids
_AT_ONCE = 200_000  # released cluster values: arrays of 1.6 MB, which stay in the last cache


def number_tasks(section: Section) -> Iterator[Task]:
    section.groups.find_once()
    for batch in section.table.batches:
        yield partial(_steps, section, batch)


def _steps(section: Section, batch: Batch) -> list[Step]:
    ready = prepare(section, batch)
    together = max(1, _AT_ONCE // ready.clusters.total.size)
    steps: list[Step] = []
    for cells, noisy in _alike(section):
        if not noisy:
            steps.append(partial(_quiet, section, ready, cells))
        elif ready.long is not None:
            share = max(together // section.runs, -(-(cells.stop - cells.start) // CORES))
            room = min(_MOST_SCALES // ready.clusters.total.size, ready.long.most_rows // section.runs)
            step = max(1, min(share, room))
            for first in range(cells.start, cells.stop, step):
                part = slice(first, min(first + step, cells.stop))
                steps.append(partial(_long, section, ready, part, ready.long))
        elif together < section.runs:
            for cell in range(cells.start, cells.stop):
                for run in range(0, section.runs, together):
                    runs = slice(run, min(run + together, section.runs))
                    steps.append(partial(_noisy, section, ready, slice(cell, cell + 1), runs))
        else:
            step = together // section.runs
            for first in range(cells.start, cells.stop, step):
                part = slice(first, min(first + step, cells.stop))
                steps.append(partial(_noisy, section, ready, part, slice(0, section.runs)))
    if len(steps) > 1:
        return steps
    for only in steps:  # threads would wait for one another longer than for it
        only()
    return []


def _alike(section: Section) -> Iterator[tuple[slice, bool]]:
    """Cells side by side: all that add noise, or one method that adds none."""
    last = 0
    for name, members in groupby(section.cells, lambda cell: "" if cell[1].adds_noise else cell[0].method):
        first, last = last, last + len(list(members))
        yield slice(first, last), not name


def _quiet(section: Section, ready: Prepared, cells: slice) -> None:
    """Without noise one row stands for all runs of all ε."""
    method = ready.method[cells.start]
    values = ready.centres[:, method : method + 1].copy()
    ready.batch.publish(values)
    rows = slice(cells.start * section.runs, cells.stop * section.runs)
    _measure(section, ready, Released(ready.clusters, lambda: values), rows)


def _noisy(section: Section, ready: Prepared, cells: slice, runs: slice) -> None:
    """Many runs of one cell, or all runs of many."""
    values = _values(ready, cells, runs)
    rows = slice(cells.start * section.runs + runs.start, (cells.stop - 1) * section.runs + runs.stop)
    _measure(section, ready, Released(ready.clusters, lambda: values), rows)


def _long(section: Section, ready: Prepared, cells: slice, long: LongRows) -> None:
    """All runs of some cells."""
    method = ready.method[cells]
    scales = laplace_scales(ready.sensitivity[0, method], ready.epsilons[0, cells, None])
    sums = long.add_up(ready.centres[0, method], scales, np.ascontiguousarray(ready.unit[0]))
    values = partial(_values, ready, cells, slice(0, section.runs))
    rows = slice(cells.start * section.runs, cells.stop * section.runs)
    _measure(section, ready, Released(ready.clusters, values, sums), rows)


def _values(ready: Prepared, cells: slice, runs: slice) -> Floats:
    method = ready.method[cells]
    scales = laplace_scales(ready.sensitivity[:, method], ready.epsilons[:, cells, None])
    unit = ready.unit[:, None, runs]
    values: Floats = unit * scales[:, :, None]
    values += ready.centres[:, method, None]
    values = values.reshape(len(unit), -1, unit.shape[3])
    ready.batch.publish(values)
    return values


def _measure(section: Section, ready: Prepared, released: Released, rows: slice) -> None:
    for measure in section.measures:
        if measure.attribute is not None and measure.attribute.clusters is not None:
            found = measure.attribute.clusters(released, section.settings)
            section.found[measure.name][ready.batch.places, rows] = found
