"""Numeric attributes of a section: centroids and bounds once a method, then one multiplication and clipping a row.

A row is what one run of one cell releases for the clusters. Rows are made and measured a cacheful at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from coterie.compare.batch import Batch
from coterie.compare.groups import summaries
from coterie.compare.long_rows import LongRows
from coterie.compare.section import CORES, Section, Step, Task
from coterie.mechanism.numeric import LaplaceOnCentroids
from coterie.methods.recipe import Method
from coterie.noise.sampler import laplace_scales
from coterie.noise.seeded import unit_laplace
from coterie.utility import jensen_shannon, matched_sse
from coterie.utility.clustered import LONG, Clusters, Released

Floats = NDArray[np.float64]
_AT_ONCE = 200_000  # released cluster values: arrays of 1.6 MB, which stay in the last cache


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch before its noise. The first axis of arrays is the attribute, the last the cluster."""

    batch: Batch
    clusters: Clusters  # as measures see them
    centres: Floats  # the second axis of these two: the method
    sensitivity: Floats
    method: NDArray[np.int64]  # of each cell
    epsilons: Floats  # of each attribute and cell
    unit: Floats  # noise of scale 1: attribute, run, cluster
    long: LongRows | None


def number_tasks(section: Section) -> Iterator[Task]:
    section.groups.find_once()
    for batch in section.table.batches:
        yield partial(_steps, section, batch)


def _steps(section: Section, batch: Batch) -> list[Step]:
    ready = _prepare(section, batch)
    together = max(1, _AT_ONCE // ready.clusters.total.size)
    steps: list[Step] = []
    for cells, noisy in _alike(section):
        if not noisy:
            steps.append(partial(_quiet, section, ready, cells))
        elif ready.long is not None:
            step = max(together // section.runs, -(-(cells.stop - cells.start) // CORES))
            step = max(1, min(step, ready.long.most_rows // section.runs))
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


def _prepare(section: Section, batch: Batch) -> Prepared:
    clusters = section.groups.numbers(batch)
    mechanisms = {cell.method: _on_centroids(method) for cell, method, _ in section.cells}
    described, apart = summaries(clusters, max(mechanism.depth for mechanism in mechanisms.values()))
    shape = clusters.total.shape
    centres, sensitivity = np.empty((2, shape[0], len(mechanisms), shape[1]))
    for place, mechanism in enumerate(mechanisms.values()):
        centres[:, place] = mechanism.centroid.compute(described).reshape(shape)
        bound = mechanism.bound
        if bound is None:
            sensitivity[:, place] = 0.0
        elif not bound.needs_domain:
            first = batch.numbers.sources[0]
            sensitivity[:, place] = bound.compute(described, first.domain, section.k).reshape(shape)
        else:
            for line, (source, summary) in enumerate(zip(batch.numbers.sources, apart, strict=True)):
                sensitivity[line, place] = bound.compute(summary, source.domain, section.k)
    numbers = {name: place for place, name in enumerate(mechanisms)}
    measured = section.groups.measured(batch, clusters)
    return Prepared(
        batch,
        measured,
        centres,
        sensitivity,
        np.array([numbers[cell.method] for cell, _, _ in section.cells]),
        np.array([[shares.doubles[name] for _, _, shares in section.cells] for name in batch.names]),
        section.table.drawn(unit_laplace, batch.names, section.seed, section.runs, len(clusters.size)),
        _long_rows(section, batch, measured),
    )


def _on_centroids(method: Method) -> LaplaceOnCentroids:
    assert isinstance(method.numeric, LaplaceOnCentroids)
    return method.numeric


def _long_rows(section: Section, batch: Batch, clusters: Clusters) -> LongRows | None:
    """None where NumPy is quick enough, or where measures need the values themselves: then few rows are made at a time."""
    if section.table.records < LONG or len(batch.names) > 1 or clusters.numbers.some_constant:
        return None
    names = {measure.name for measure in section.measures}
    if matched_sse.MEASURE.name in names:
        return None
    long = LongRows(batch, clusters, section.settings, jensen_shannon.MEASURE.name in names)
    return long if section.runs <= long.most_rows else None


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
