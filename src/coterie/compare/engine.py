"""The cells of a grid, k by k: the same numbers as protect() and the measures give, at a fraction of the work.

What is shared: one sort an attribute for the whole grid; one clustering, summary, centroid and sensitivity for all ε
and runs; one set of unit noise for all methods and ε of a seed. What remains a cell is one multiplication, one
clipping and the measures, on one number a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.budget import split
from coterie.columns.column import NumericColumn
from coterie.compare.grid import Cell
from coterie.compare.groups import Groups
from coterie.compare.labels import draw_labels
from coterie.compare.shared_noise import SharedNoise
from coterie.compare.sorted_table import Floats, SortedTable
from coterie.mechanism.numeric import Centroids, LaplaceOnCentroids
from coterie.mechanism.semantic import ExponentialMechanism, MarginalityCentroid
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.utility.clustered import ClusteredColumn, ClusteredLabels
from coterie.utility.measure import Measure, Settings

_NUMBERS_AT_ONCE = 2_000_000  # cells × runs × clusters worked on together: 16 MB an array


@dataclass(frozen=True, slots=True)
class Block:
    """Finished cells of one method and k. values[measure] has the axes cell, run, attribute; NaN: not measured."""

    cells: tuple[Cell, ...]
    values: dict[str, Floats]


def run_cells(
    table: SortedTable,
    cells: Sequence[Cell],
    runs: int,
    seed: int,
    measures: Sequence[Measure],
    settings: Settings,
    find: Callable[[str], Method] = get_method,
) -> Iterator[Block]:
    """Work through the cells, method by method within each k; clusters are shared by methods that group alike."""
    groups: dict[str, Groups] = {}
    last_k = None
    for method, k, block in _blocks(cells, find):
        if k != last_k:
            groups, last_k = {}, k
        if method.grouping.name not in groups:
            groups[method.grouping.name] = Groups(table, method.grouping, k)
        found = {
            measure.name: np.full((len(block), runs, len(table.columns)), np.nan) for measure in measures
        }
        shares = [_shares(cell.epsilon, table, method) for cell in block]
        for place, (name, column) in enumerate(table.columns.items()):
            epsilons = [share[name] for share in shares]
            clustered: Any
            released: Iterator[tuple[int, NDArray[Any]]]
            if isinstance(column, NumericColumn):
                clustered = groups[method.grouping.name].numbers(column)
                released = _numbers(table, clustered, method, k, epsilons, seed, runs)
            else:
                clustered = groups[method.grouping.name].labels(column)
                released = _labels(
                    table, clustered, groups[method.grouping.name], method, k, epsilons, seed, runs
                )
            for first, values in released:
                for measure in measures:
                    assert measure.attribute is not None
                    ask: Any = (
                        measure.attribute.clusters
                        if isinstance(column, NumericColumn)
                        else measure.attribute.drawn
                    )
                    if ask is not None:
                        rows = found[measure.name].reshape(-1, len(table.columns))
                        rows[first : first + len(values), place] = ask(clustered, values, settings)
        yield Block(block, found)


def _blocks(
    cells: Sequence[Cell], find: Callable[[str], Method]
) -> Iterator[tuple[Method, int, tuple[Cell, ...]]]:
    together: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        together.setdefault((cell.method, cell.k), []).append(cell)
    for (name, k), block in together.items():
        yield find(name), k, tuple(block)


def _shares(epsilon: Fraction, table: SortedTable, method: Method) -> dict[str, Fraction]:
    weights = {name: column.attribute.weight for name, column in table.columns.items()}
    return split(epsilon, weights) if method.splits_budget else dict.fromkeys(weights, epsilon)


def _numbers(
    table: SortedTable,
    clustered: ClusteredColumn,
    method: Method,
    k: int,
    epsilons: Sequence[Fraction],
    seed: int,
    runs: int,
) -> Iterator[tuple[int, Floats]]:
    """Released cluster values: one row a (cell, run), as many rows at a time as memory allows."""
    mechanism, column = method.numeric, clustered.column.source
    assert isinstance(mechanism, LaplaceOnCentroids)
    centroids = Centroids(clustered.summary, mechanism.centroid.compute(clustered.summary))
    sensitivity = mechanism.sensitivity(column, centroids, k)
    noise = SharedNoise(table.unit_noise(column.attribute.name, seed, runs, len(clustered.size)))
    together = max(1, _NUMBERS_AT_ONCE // noise.unit.size)
    for first in range(0, len(epsilons), together):
        rows = [
            mechanism.noise(column, centroids, sensitivity, epsilon, noise)
            for epsilon in epsilons[first : first + together]
        ]
        yield first * runs, np.concatenate(rows) if len(rows) > 1 else rows[0]


def _labels(
    table: SortedTable,
    clustered: ClusteredLabels,
    groups: Groups,
    method: Method,
    k: int,
    epsilons: Sequence[Fraction],
    seed: int,
    runs: int,
) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Released labels of the clusters: one row a (cell, run)."""
    mechanism, column = method.categorical, clustered.source
    name, shape = column.attribute.name, (runs, len(clustered.size))
    if isinstance(mechanism, ExponentialMechanism):
        spread = mechanism.spread(column, shape[1])
        for place, epsilon in enumerate(epsilons):
            seeds = range(seed, seed + runs)
            yield place * runs, draw_labels(clustered.marginality, epsilon, spread, seeds, name)
        return
    centroids = mechanism.centroids(column, groups.clustering(column))
    sensitivity = mechanism.sensitivity(column, centroids, k)
    exact = isinstance(mechanism, MarginalityCentroid)
    noise = SharedNoise(np.zeros(shape) if exact else table.unit_noise(name, seed, runs, shape[1]))
    for place, epsilon in enumerate(epsilons):
        codes = mechanism.noise(column, centroids, sensitivity, epsilon, noise)
        yield place * runs, np.broadcast_to(codes, shape)
