"""Categories of a section: labels drawn for all cells and runs of a column, and measured together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from coterie.chain.mechanism.counted import CountedLabels
from coterie.chain.mechanism.listed import SortedLabels, values_at_ranks
from coterie.chain.mechanism.semantic import WHOLE_LIST, ExponentialMechanism
from coterie.comparison.labels import ready_draws, stream_of, uniform
from coterie.comparison.section import Section, Task
from coterie.comparison.shared_noise import SharedNoise
from coterie.evaluation.clustered_labels import ClusteredLabels, Drawn, DrawnCodes
from coterie.methods.recipe import Method
from coterie.table.columns.column import CategoryColumn

_AT_ONCE = 200_000  # labels measured together


def category_tasks(section: Section) -> Iterator[Task]:
    for line, column in enumerate(section.table.columns.values()):
        if isinstance(column, CategoryColumn):
            yield partial(_column, section, line, column)


def _column(section: Section, line: int, column: CategoryColumn) -> None:
    drawn = [place for place, (_, method, _) in enumerate(section.cells) if _exponential(method) is not None]
    if drawn:
        _draw(section, line, section.groups.labels(column), drawn)
    for method, places in section.methods().values():
        if isinstance(method.categorical, CountedLabels):
            _count(section, line, column, method.categorical, places)
        elif _exponential(method) is None:
            _rank(section, line, column, method, places)


def _exponential(method: Method) -> ExponentialMechanism | None:
    """The list of labels alone (`dp-sorted`) holds what each cluster drew, as often as it has members."""
    mechanism = WHOLE_LIST if isinstance(method.categorical, SortedLabels) else method.categorical
    return mechanism if isinstance(mechanism, ExponentialMechanism) else None


def _draw(section: Section, line: int, clustered: ClusteredLabels, places: list[int]) -> None:
    column, clusters = clustered.source, len(clustered.group)
    name = column.attribute.name
    draws = section.table.drawn(uniform, (stream_of(name),), section.seed, section.runs, clusters)[0]
    ready = ready_draws(draws, clustered)
    together = max(1, _AT_ONCE // draws.size)
    for first in range(0, len(places), together):
        rows = []
        for place in places[first : first + together]:
            _, method, shares = section.cells[place]
            mechanism = _exponential(method)
            assert mechanism is not None
            spread = mechanism.spread(column, clusters)
            rows.append(ready.draw(clustered, shares.exact[name], spread, section.seed))
        drawn = ready.gives(clustered, np.concatenate(rows))
        _measure(section, line, drawn, places[first : first + together])


def _rank(section: Section, line: int, column: CategoryColumn, method: Method, places: list[int]) -> None:
    """Ranks that are perturbed like numbers, or labels without any noise: one row for all."""
    mechanism, name = method.categorical, column.attribute.name
    noise = SharedNoise(section.table, section.seed, section.runs)
    centroids = mechanism.centroids(column, section.groups.clustering(column))
    sensitivity = mechanism.sensitivity(column, centroids, section.k)
    codes = [
        np.atleast_2d(
            mechanism.noise(column, centroids, sensitivity, section.cells[place][2].exact[name], noise)
        )
        for place in (places if method.adds_noise else places[:1])
    ]
    _measure(section, line, DrawnCodes(section.groups.labels(column), np.concatenate(codes)), places)


def _count(
    section: Section, line: int, column: CategoryColumn, mechanism: CountedLabels, places: list[int]
) -> None:
    """Synthetic labels: as often as the noisy counts say, in any order."""
    noise, ranks = SharedNoise(section.table, section.seed, section.runs), np.arange(len(column.codes))
    counts = mechanism.centroids(column, section.groups.clustering(column))
    sensitivity = mechanism.sensitivity(column, counts, section.k)
    for place in places:
        epsilon = section.cells[place][2].exact[column.attribute.name]
        released = mechanism.noise(column, counts, sensitivity, epsilon, noise)
        for run, codes in enumerate(values_at_ranks(column, released, ranks)):
            for measure in section.measures:
                if measure.attribute is not None and measure.attribute.labels is not None:
                    value = measure.attribute.labels(column, codes, section.settings)
                    section.found[measure.name][line, section.rows(place).start + run] = value


def _measure(section: Section, line: int, drawn: Drawn, places: list[int]) -> None:
    """A row a cell and run, or one for all runs of a cell; a single row stands for all."""
    for measure in section.measures:
        if measure.attribute is not None and measure.attribute.drawn is not None:
            values = measure.attribute.drawn(drawn, section.settings)
            by_cell = section.found[measure.name][line].reshape(-1, section.runs)
            by_cell[places] = values.reshape(len(places), -1) if len(values) > 1 else values
