"""The cells of a grid, k by k: the same numbers as protect() and the measures give, at a fraction of the work.

What is shared around the kernel: one sort per attribute for the whole grid; one clustering for all methods of a k that group
alike; one set of centroids and sensitivities for all ε and runs; one set of unit noise for all methods, k and ε of a seed.
What remains per cell is the mechanism's own noise for all runs, and the measures, on one number per cluster.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.kernel import Grouped
from coterie.comparison.grid import Cell
from coterie.comparison.shared_work import SharedNoise, SortedTable
from coterie.errors import CoterieError
from coterie.evaluation.clustered import ClusteredLabels, ReleasedLabels, ReleasedNumbers
from coterie.evaluation.measure import Measure, Settings
from coterie.methods import get_method
from coterie.methods.grouping import EACH_ALONE, Find
from coterie.methods.recipe import Method
from coterie.registry import failure
from coterie.schema.arrays import Codes, Floats
from coterie.schema.exact import split
from coterie.table.columns.column import Column, NumericColumn
from coterie.table.memory_limit import keep_some_of_what_is_freed

Shares = Mapping[str, Fraction]  # ε of every attribute

_CORES = os.cpu_count() or 1
_WORTH_THREADS = 100_000  # released values of an attribute: threads pay where NumPy works on long arrays
_AT_ONCE = 200_000  # released values measured together: arrays of 1.6 MB, which stay in the last cache


@dataclass(frozen=True, slots=True)
class Block:
    """Finished cells. values[measure] has the axes cell, run, attribute; NaN: not measured."""

    cells: tuple[Cell, ...]
    values: dict[str, Floats]

    def without(self, measures: Collection[str]) -> Block:
        return replace(self, values={n: found for n, found in self.values.items() if n not in measures})


@dataclass(frozen=True, slots=True)
class Trials:
    """What is done in every cell: so many runs, run r drawn with `seed + r`, and what is measured of each.

    `failed` fills with the measures that raised, and why: one that fails does not take the others with it.
    """

    runs: int
    seed: int
    measures: Sequence[Measure]
    settings: Settings
    failed: dict[str, str] = field(default_factory=dict)

    def by_row(
        self, measure: Measure, shown: ReleasedNumbers | ReleasedLabels, clusters: Sequence[Codes] | None
    ) -> Floats | None:
        assert measure.attribute is not None
        found: Floats | None = self.safely(measure, measure.attribute.by_row, shown, clusters, self.settings)
        return found

    def safely(self, measure: Measure, compute: Callable[..., Any], *given: Any) -> Any:
        """None, where the measure failed, now or before."""
        if measure.name in self.failed:
            return None
        try:
            return compute(*given)
        except CoterieError:
            raise
        except Exception as error:
            self.failed[measure.name] = failure(error)
            return None


@dataclass(frozen=True)
class ShareOut:
    """ε of every attribute. Worked out once for methods that share alike."""

    weights: Mapping[str, Fraction]
    _known: dict[tuple[int, int, bool], Shares] = field(default_factory=dict)

    def __call__(self, epsilon: Fraction, method: Method) -> Shares:
        """The same object for methods that share ε out alike."""
        key = (*epsilon.as_integer_ratio(), method.splits_budget)  # hashing a fraction takes a modular power
        if key not in self._known:
            self._known[key] = (
                split(epsilon, self.weights) if method.splits_budget else dict.fromkeys(self.weights, epsilon)
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
    trials: Trials
    found: Mapping[str, Floats]
    find: Find

    @property
    def synthetic(self) -> bool:
        """All methods of a section draw their rows, or none does."""
        return self.cells[0][1].lists

    def run(self, names: tuple[str, ...], spread: Callable[..., Iterable[None]] = map) -> None:
        """A batch of columns through the kernel, for every cell and run. `spread` maps, perhaps over threads."""
        columns = [self.table.columns[name] for name in names]
        lines = [list(self.table.columns).index(name) for name in names]
        found, grouping = [self.find(column) for column in columns], self.cells[0][1].grouping
        grouped = {}
        for name, method in {cell.method: method for cell, method, _ in self.cells}.items():
            mechanism = method.mechanism(columns[0])  # the columns of a batch are of one kind
            grouped[name] = [
                Grouped.of(column, mechanism, clustering, self.k)
                for column, clustering in zip(columns, found, strict=True)
            ]
        if self.synthetic:
            # The ranks of an attribute are always 0 … n-1 in some order, which measures without linkage do not see: so the
            # dependence between attributes is never drawn.
            grouping, found = EACH_ALONE, [EACH_ALONE.prepare(columns, 1)(column) for column in columns]
        seen = self.table.clusters(names, grouping, found)
        labels = None if grouping.alone else [clustering.labels for clustering in found]
        noise = SharedNoise(
            self.table.draws,
            len(self.table.columns),
            self.trials.seed,
            self.trials.runs,
            slice(0, self.trials.runs),
        )

        def measured(chunk: tuple[list[int], slice]) -> None:
            places, runs = chunk
            part, width = noise.only(runs), runs.stop - runs.start
            into = np.ix_(lines, places, range(runs.start, runs.stop))
            values = np.empty((len(names), len(places) * width, found[0].count), dtype=_kind(columns[0]))
            for number, place in enumerate(places):
                rows = slice(number * width, (number + 1) * width)
                for line, one in enumerate(grouped[self.cells[place][0].method]):
                    values[line, rows] = self._released(one, self.cells[place][2], part)
            shown = (
                ReleasedLabels(seen, values[0])
                if isinstance(seen, ClusteredLabels)
                else ReleasedNumbers(seen, values)
            )
            for measure in self.trials.measures:
                by_row = self.trials.by_row(measure, shown, labels)
                if by_row is not None:
                    self.found[measure.name][into] = by_row.reshape(len(lines), len(places), -1)

        list(spread(measured, self._chunks(len(names) * found[0].count)))
        for cells in self._quiet().values():
            for by_cell in self.found.values():
                for line in lines:
                    by_cell[line, cells] = by_cell[line, cells[0], 0]

    def _chunks(self, width: int) -> Iterator[tuple[list[int], slice]]:
        """Cells and runs that are worked on together. A method without noise has one row for all ε and runs."""
        quiet = self._quiet()
        for cells in quiet.values():
            yield cells[:1], slice(0, 1)
        silent = {place for cells in quiet.values() for place in cells}
        noisy = [place for place in range(len(self.cells)) if place not in silent]
        rows = max(1, _AT_ONCE // width)
        together, step = max(1, rows // self.trials.runs), min(rows, self.trials.runs)
        for first in range(0, len(noisy), together):
            for run in range(0, self.trials.runs, step):
                yield noisy[first : first + together], slice(run, min(run + step, self.trials.runs))

    def _quiet(self) -> dict[str, list[int]]:
        """The places of each method that adds no noise."""
        found: dict[str, list[int]] = {}
        for place, (cell, method, _) in enumerate(self.cells):
            if not method.adds_noise:
                found.setdefault(cell.method, []).append(place)
        return found

    def _released(self, grouped: Grouped, shares: Shares, noise: SharedNoise) -> NDArray[Any]:
        """A row per run: what is released for each cluster, or, of synthetic rows, for each rank. One row stands for all."""
        epsilon = shares[grouped.column.attribute.name]
        together = (noise,) if grouped.mechanism.many_runs else noise.each()
        drawn = [grouped.noisy(epsilon, sampler) for sampler in together]
        if self.synthetic:
            rows = [noisy.at_ranks(np.arange(self.table.records)) for noisy in drawn]
        else:
            rows = [noisy.released for noisy in drawn]
        return np.asarray(rows[0]) if len(rows) == 1 else np.stack(rows)


def _kind(column: Column) -> type:
    return np.float64 if isinstance(column, NumericColumn) else np.int32


def run_cells(
    table: SortedTable,
    cells: Sequence[Cell],
    trials: Trials,
    find: Callable[[str], Method] = get_method,
    shares: Shares | None = None,
) -> Iterator[Block]:
    """Work through the cells in sections that share their clusters. `shares` takes the place of the cells' own ε."""
    share_out = ShareOut({name: column.attribute.weight for name, column in table.columns.items()})
    keep_some_of_what_is_freed()
    together: dict[tuple[int, str, bool], list[tuple[Cell, Method, Shares]]] = {}
    for cell in cells:
        method = find(cell.method)
        key = (cell.k, method.grouping.name, method.lists)
        together.setdefault(key, []).append((cell, method, shares or share_out(cell.epsilon, method)))
    # Threads pay where NumPy works outside the interpreter lock: on long arrays.
    long = {
        key
        for key, members in together.items()
        if table.records // key[0] * len(members) * trials.runs >= _WORTH_THREADS
    }
    with ThreadPoolExecutor(_CORES) if long else nullcontext() as pool:
        for key, members in together.items():
            k, _, synthetic = key
            shape = (len(table.columns), len(members), trials.runs)
            seen = [measure for measure in trials.measures if not (synthetic and measure.needs_linkage)]
            found = {measure.name: np.full(shape, np.nan) for measure in trials.measures}
            grouping = members[0][1].grouping
            groups, batches = table.grouped(grouping, k), table.batches(grouping)
            section = Section(table, k, members, replace(trials, measures=seen), found, groups)
            run = pool.map if pool is not None and key in long else map
            if len(batches) > 1:
                list(run(section.run, batches))
            else:
                section.run(batches[0], run)
            by_cell = {name: values.transpose(1, 2, 0) for name, values in found.items()}
            yield Block(tuple(cell for cell, _, _ in members), by_cell)
