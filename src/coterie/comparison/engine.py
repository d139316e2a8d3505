"""The cells of a grid, k by k: the same numbers as protect() and the measures give, at a fraction of the work.

What is shared around the kernel: one sort an attribute for the whole grid; one clustering for all methods of a k that group
alike; one set of centroids and sensitivities for all ε and runs; one set of unit noise for all methods, k and ε of a seed.
What remains a cell is the mechanism's own noise for all runs, and the measures, on one number a cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.kernel import Grouped
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.synthesis.whole_table import WholeTable
from coterie.comparison.grid import Cell
from coterie.comparison.shared_noise import SharedNoise
from coterie.comparison.sorted_table import SortedTable
from coterie.engines.whole_table import synthesised
from coterie.evaluation.clustered_labels import ClusteredLabels, Drawn
from coterie.evaluation.measure import Measure, Settings
from coterie.evaluation.released import Released
from coterie.methods import get_method
from coterie.methods.grouping import EACH_ALONE, Find
from coterie.methods.recipe import Method
from coterie.promise.terms import Budget
from coterie.schema.exact import split
from coterie.table.columns.change import in_label_order
from coterie.table.columns.column import CategoryColumn, Column
from coterie.table.memory_limit import keep_some_of_what_is_freed

Floats = NDArray[np.float64]
Shares = Mapping[str, Fraction]  # ε of every attribute

_CORES = os.cpu_count() or 1
_WORTH_THREADS = 100_000  # released values of an attribute: threads pay where NumPy works on long arrays
_AT_ONCE = 200_000  # released values measured together: arrays of 1.6 MB, which stay in the last cache


@dataclass(frozen=True, slots=True)
class Block:
    """Finished cells. values[measure] has the axes cell, run, attribute; NaN: not measured."""

    cells: tuple[Cell, ...]
    values: dict[str, Floats]


@dataclass(frozen=True)
class ShareOut:
    """ε of every attribute; the rest goes to the dependence between them. Worked out once for methods that share alike."""

    weights: Mapping[str, Fraction]
    _known: dict[tuple[int, int, bool], Shares] = field(default_factory=dict)

    def __call__(self, epsilon: Fraction, method: Method) -> Shares:
        """The same object for methods that share ε out alike."""
        total = epsilon - method.dependence(epsilon, len(self.weights))
        key = (*total.as_integer_ratio(), method.splits_budget)  # hashing a fraction takes a modular power
        if key not in self._known:
            self._known[key] = (
                split(total, self.weights) if method.splits_budget else dict.fromkeys(self.weights, epsilon)
            )
        return self._known[key]


@dataclass(frozen=True)
class Section:
    """Cells that share their clusters: all methods of one k that group alike, every ε, every run.

    `found[measure]` is filled column by column; its axes are attribute, cell, run; NaN where there is no number.
    """

    table: SortedTable
    k: int
    cells: Sequence[tuple[Cell, Method, Shares]]
    runs: int
    seed: int
    measures: Sequence[Measure]
    settings: Settings
    found: Mapping[str, Floats]
    find: Find

    @property
    def synthetic(self) -> bool:
        """All methods of a section draw their rows, or none does."""
        return self.cells[0][1].synthesis is not None

    def run(self, line: int, column: Column) -> None:
        """One column through the kernel, for every cell and run."""
        clustering, grouping = self.find(column), self.cells[0][1].grouping
        if self.synthetic:
            # The ranks of an attribute are always 0 … n-1 in some order, which measures without linkage do not see: so the
            # dependence between attributes is never drawn.
            alone = EACH_ALONE.prepare([column], 1)(column)
            seen, width = self.table.clusters(column.attribute.name, EACH_ALONE, alone), self.table.records
        else:
            seen = self.table.clusters(column.attribute.name, grouping, clustering)
            width = clustering.count
        labels = None if self.synthetic or grouping.alone else clustering.labels
        grouped: dict[str, Grouped] = {}
        for cell, method, _ in self.cells:
            if cell.method not in grouped:
                grouped[cell.method] = Grouped.of(column, method.mechanism(column), clustering, self.k)
        noise = SharedNoise(
            self.table.draws, len(self.table.columns), self.seed, self.runs, slice(0, self.runs)
        )
        for places, runs in self._chunks(width):
            part = noise.only(runs)
            rows = [
                self._released(grouped[self.cells[place][0].method], column, place, part) for place in places
            ]
            values = rows[0] if len(rows) == 1 else np.concatenate(rows)
            shown = Drawn(seen, values) if isinstance(seen, ClusteredLabels) else Released(seen, values[None])
            for measure in self.measures:
                assert measure.attribute is not None
                by_row = measure.attribute.by_row(shown, labels, self.settings)
                if by_row is not None:
                    self.found[measure.name][line, places, runs] = by_row.reshape(len(places), -1)
        for cells in self._quiet().values():
            for values in self.found.values():
                values[line, cells] = values[line, cells[0], 0]

    def _chunks(self, width: int) -> Iterator[tuple[list[int], slice]]:
        """Cells and runs that are worked on together. A method without noise has one row for all ε and runs."""
        quiet = self._quiet()
        for cells in quiet.values():
            yield cells[:1], slice(0, 1)
        silent = {place for cells in quiet.values() for place in cells}
        noisy = [place for place in range(len(self.cells)) if place not in silent]
        rows = max(1, _AT_ONCE // width)
        together, step = max(1, rows // self.runs), min(rows, self.runs)
        for first in range(0, len(noisy), together):
            for run in range(0, self.runs, step):
                yield noisy[first : first + together], slice(run, min(run + step, self.runs))

    def _quiet(self) -> dict[str, list[int]]:
        """The places of each method that adds no noise."""
        found: dict[str, list[int]] = {}
        for place, (cell, method, _) in enumerate(self.cells):
            if not method.adds_noise:
                found.setdefault(cell.method, []).append(place)
        return found

    def _released(self, grouped: Grouped, column: Column, place: int, noise: SharedNoise) -> NDArray[Any]:
        """A row per run: what is released for each cluster, or, of synthetic rows, for each rank."""
        epsilon = self.cells[place][2][column.attribute.name]
        together = (noise,) if grouped.mechanism.many_runs else noise.each()
        drawn = [grouped.noisy(epsilon, sampler) for sampler in together]
        if self.synthetic:
            ranks = np.arange(self.table.records)
            rows = [np.atleast_2d(noisy.at_ranks(ranks)) for noisy in drawn]
        else:
            rows = [np.atleast_2d(noisy.released) for noisy in drawn]
        values = rows[0] if len(rows) == 1 else np.concatenate(rows)
        if len(values) < noise.width:  # nothing to draw: a category with one label
            return np.broadcast_to(values, (noise.width, values.shape[1]))
        return values


def run_cells(
    table: SortedTable,
    cells: Sequence[Cell],
    runs: int,
    seed: int,
    measures: Sequence[Measure],
    settings: Settings,
    find: Callable[[str], Method] = get_method,
    shares: Shares | None = None,
) -> Iterator[Block]:
    """Work through the cells in sections that share their clusters. `shares` takes the place of the cells' own ε."""
    share_out = ShareOut({name: column.attribute.weight for name, column in table.columns.items()})
    keep_some_of_what_is_freed()
    together: dict[tuple[int, str, bool], list[tuple[Cell, Method, Shares]]] = {}
    for cell in cells:
        method = find(cell.method)
        if method.whole_table is not None:
            each = shares or share_out(cell.epsilon, method)
            yield _whole_table(table, cell, method.whole_table, each, runs, seed, measures, settings)
            continue
        key = (cell.k, method.grouping.name, method.synthesis is not None)
        together.setdefault(key, []).append((cell, method, shares or share_out(cell.epsilon, method)))
    # Threads pay where NumPy works outside the interpreter lock: on long arrays.
    long = {
        key
        for key, members in together.items()
        if len(table.columns) > 1 and table.records // key[0] * len(members) * runs >= _WORTH_THREADS
    }
    with ThreadPoolExecutor(_CORES) if long else nullcontext() as pool:
        for key, members in together.items():
            k, _, synthetic = key
            shape = (len(table.columns), len(members), runs)
            seen = [measure for measure in measures if not (synthetic and measure.needs_linkage)]
            found = {measure.name: np.full(shape, np.nan) for measure in measures}
            groups = table.grouped(members[0][1].grouping, k)
            section = Section(table, k, members, runs, seed, seen, settings, found, groups)
            run = pool.map if pool is not None and key in long else map
            list(run(section.run, range(len(table.columns)), table.columns.values()))
            by_cell = {name: values.transpose(1, 2, 0) for name, values in found.items()}
            yield Block(tuple(cell for cell, _, _ in members), by_cell)


def _whole_table(
    table: SortedTable,
    cell: Cell,
    whole: WholeTable,
    shares: Shares,
    runs: int,
    seed: int,
    measures: Sequence[Measure],
    settings: Settings,
) -> Block:
    """A method that models the whole table shares nothing between runs: noise decides what it reads next."""
    found = {measure.name: np.full((1, runs, len(table.columns)), np.nan) for measure in measures}
    budget = Budget(cell.epsilon, dict(shares), Fraction(0))
    for run in range(runs):
        drawn = synthesised(whole, table.columns, table.records, budget, SeededSampler(seed + run))[0].values
        for line, (name, column) in enumerate(table.columns.items()):
            alone = EACH_ALONE.prepare([column], 1)(column)
            seen = table.clusters(name, EACH_ALONE, alone)
            if isinstance(seen, ClusteredLabels):
                assert isinstance(column, CategoryColumn)
                shown: Drawn | Released = Drawn(seen, in_label_order(column, drawn[name])[None])
            else:
                shown = Released(seen, np.sort(drawn[name])[None, None])
            for measure in measures:
                if measure.attribute is not None and not measure.needs_linkage:
                    by_row = measure.attribute.by_row(shown, None, settings)
                    if by_row is not None:
                        found[measure.name][0, run, line] = by_row.item()
    return Block((cell,), found)
