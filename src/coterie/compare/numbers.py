"""Numeric attributes of a section: centroids and bounds once a method, then one multiplication and clipping a row.

A row is what one run of one cell releases for the clusters. Rows are made and measured a cacheful at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from coterie.compare.groups import summaries
from coterie.compare.section import Section, Task
from coterie.compare.sorted_table import Batch
from coterie.mechanism.numeric import Centroids, LaplaceOnCentroids, limits
from coterie.noise.sampler import laplace_scales
from coterie.noise.seeded import unit_laplace
from coterie.utility.clustered import Clusters, Released

Floats = NDArray[np.float64]
_AT_ONCE = 65_536  # released cluster values: half a megabyte an array


@dataclass(frozen=True, slots=True)
class Noisy:
    """One method before its noise: a line an attribute, a number a cluster."""

    centres: Floats
    sensitivity: Floats


def number_tasks(section: Section) -> Iterator[Task]:
    for batch in section.table.batches:
        clusters = section.groups.numbers(batch)
        described = summaries(clusters)
        methods = {}
        for name, (method, _) in section.methods().items():
            mechanism = method.numeric
            assert isinstance(mechanism, LaplaceOnCentroids)
            pairs = []
            for column, summary in zip(batch.numbers.sources, described, strict=True):
                centroids = Centroids(summary, mechanism.centroid.compute(summary))
                pairs.append((centroids.values, mechanism.sensitivity(column, centroids, section.k)))
            methods[name] = Noisy(*(np.stack(part) for part in zip(*pairs, strict=True)))
        measured = section.groups.measured(batch, clusters)
        together = max(1, _AT_ONCE // clusters.total.size)
        unit = section.table.drawn(unit_laplace, batch.names, section.seed, section.runs, len(clusters.size))
        for first, last, repeated in _stretches(section, together):
            yield partial(_measure, section, batch, measured, methods, unit, first, last, repeated)


def _stretches(section: Section, together: int) -> Iterator[tuple[int, int, bool]]:
    """Rows to work on together, from … to. Without noise one row stands for all runs of all ε."""
    for method, places in section.methods().values():
        first, last = section.rows(places[0]).start, section.rows(places[-1]).stop
        if not method.adds_noise:
            yield first, last, True
    noisy = [place for place, (_, method, _) in enumerate(section.cells) if method.adds_noise]
    for part in np.split(np.array(noisy, dtype=np.int64), np.flatnonzero(np.diff(noisy) > 1) + 1):
        if len(part):
            first, last = section.rows(int(part[0])).start, section.rows(int(part[-1])).stop
            for start in range(first, last, together):
                yield start, min(start + together, last), False


def _measure(
    section: Section,
    batch: Batch,
    clusters: Clusters,
    methods: dict[str, Noisy],
    unit: Floats,
    first: int,
    last: int,
    repeated: bool,
) -> None:
    runs = section.runs
    values = np.empty((len(batch.names), 1 if repeated else last - first, len(clusters.size)))
    if repeated:
        values[:] = methods[section.cells[first // runs][0].method].centres[:, None]
    for place in range(first // runs, 0 if repeated else -(-last // runs)):
        cell, _, shares = section.cells[place]
        noisy = methods[cell.method]
        epsilons = np.array([shares.doubles[name] for name in batch.names])
        scales = laplace_scales(noisy.sensitivity, epsilons[:, None])
        begin, end = max(first, place * runs), min(last, (place + 1) * runs)
        rows = values[:, begin - first : end - first]
        np.multiply(unit[:, begin - place * runs : end - place * runs], scales[:, None], out=rows)
        rows += noisy.centres[:, None]
    _publish(values, batch)
    released = Released(clusters, values)
    for measure in section.measures:
        if measure.attribute is not None and measure.attribute.clusters is not None:
            found = measure.attribute.clusters(released, section.settings)
            section.found[measure.name][batch.places, first:last] = found


def _publish(values: Floats, batch: Batch) -> None:
    """Clipped and rounded in place, as `LaplaceOnCentroids` does it."""
    sources = batch.numbers.sources
    lower, upper = np.array([limits(source) for source in sources]).T[:, :, None, None]
    np.clip(values, lower, upper, out=values)
    stepped = np.array([source.step is not None for source in sources])
    if stepped.any():
        per_unit = np.array([float(round(1 / source.step)) for source in sources if source.step is not None])
        per_unit = per_unit[:, None, None]
        rounded = np.rint(values[stepped] * per_unit) / per_unit
        values[stepped] = np.clip(rounded, lower[stepped], upper[stepped])
