"""What all cells of a section share for some numeric attributes: clusters, centroids, sensitivities and unit noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.chain.mechanism.numeric import LaplaceOnCentroids
from coterie.chain.noise.seeded import unit_laplace
from coterie.comparison.batch import Batch
from coterie.comparison.groups import summaries
from coterie.comparison.long_rows import LongRows
from coterie.comparison.section import Section
from coterie.evaluation import jensen_shannon
from coterie.evaluation.clustered import LONG, Clusters
from coterie.methods.recipe import Method

Floats = NDArray[np.float64]


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


def prepare(section: Section, batch: Batch) -> Prepared:
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
    if not all(m.attribute.from_sums for m in section.measures if m.attribute and m.attribute.clusters):
        return None
    counted = any(measure.name == jensen_shannon.MEASURE.name for measure in section.measures)
    long = LongRows(batch, clusters, section.settings, counted)
    return long if section.runs <= long.most_rows else None
