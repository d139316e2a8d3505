"""The cells of a grid, k by k: the same numbers as protect() and the measures give, at a fraction of the work.

What is shared: one sort an attribute for the whole grid; one clustering, summary, centroid and sensitivity for all ε
and runs; one set of unit noise for all methods and ε of a seed. What remains a cell is one multiplication, one
clipping and the measures, on one number a cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
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

_WORTH_THREADS = 100_000  # released cluster values of a block
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
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield from _run(pool, table, cells, runs, seed, measures, settings, find)


def _run(
    pool: ThreadPoolExecutor,
    table: SortedTable,
    cells: Sequence[Cell],
    runs: int,
    seed: int,
    measures: Sequence[Measure],
    settings: Settings,
    find: Callable[[str], Method],
) -> Iterator[Block]:
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
        work = partial(
            _measure,
            table,
            groups[method.grouping.name],
            method,
            block,
            shares,
            seed,
            runs,
            measures,
            settings,
            found,
        )
        # Threads pay where NumPy works outside the interpreter lock: on long arrays.
        if table.records // k * runs * len(block) >= _WORTH_THREADS:
            list(pool.map(work, range(len(table.columns))))
        else:
            for place in range(len(table.columns)):
                work(place)
        yield Block(block, found)


def _measure(
    table: SortedTable,
    groups: Groups,
    method: Method,
    block: Sequence[Cell],
    shares: Sequence[Mapping[str, Fraction]],
    seed: int,
    runs: int,
    measures: Sequence[Measure],
    settings: Settings,
    found: Mapping[str, Floats],
    place: int,
) -> None:
    """One attribute of all cells of a block, into its own column of `found`."""
    name, column = list(table.columns.items())[place]
    epsilons, k = [share[name] for share in shares], block[0].k
    clustered: Any
    released: Iterator[tuple[int, NDArray[Any]]]
    if isinstance(column, NumericColumn):
        assert isinstance(method.numeric, LaplaceOnCentroids)
        clustered = groups.numbers(column, depth_of(method.numeric))
        released = _numbers(table, clustered, method.numeric, k, epsilons, seed, runs)
    else:
        clustered = groups.labels(column)
        released = _labels(table, clustered, groups, method, k, epsilons, seed, runs)
    for first, values in released:
        for measure in measures:
            assert measure.attribute is not None
            ask: Any = (
                measure.attribute.clusters if isinstance(column, NumericColumn) else measure.attribute.drawn
            )
            if ask is not None:
                rows = found[measure.name].reshape(-1, len(table.columns))
                rows[first : first + len(values), place] = ask(clustered, values, settings)


def depth_of(mechanism: LaplaceOnCentroids) -> int:
    """How many outermost values of each cluster its centroid and bound read."""
    return max(mechanism.centroid.depth, mechanism.bound.depth if mechanism.bound else 0)


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
    mechanism: LaplaceOnCentroids,
    k: int,
    epsilons: Sequence[Fraction],
    seed: int,
    runs: int,
) -> Iterator[tuple[int, Floats]]:
    """Released cluster values: one row a (cell, run), as many rows at a time as memory allows."""
    column = clustered.column.source
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
