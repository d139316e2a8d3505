"""The cells of a grid, k by k: the same numbers as protect() and the measures give, at a fraction of the work.

What is shared: one sort an attribute for the whole grid; one clustering for all methods of a k that group alike; one
summary, centroid and sensitivity for all ε and runs; one set of unit noise for all methods, k and ε of a seed. What
remains a cell is one multiplication, one clipping and the measures, on one number a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain

import numpy as np

from coterie.comparison.categories import category_tasks
from coterie.comparison.grid import Cell
from coterie.comparison.groups import Groups
from coterie.comparison.numbers import number_tasks
from coterie.comparison.section import CORES, Floats, Section, ShareOut, Shares
from coterie.comparison.sorted_table import SortedTable
from coterie.comparison.synthetic import synthetic_tasks
from coterie.comparison.workers import finish
from coterie.evaluation.clustered import LONG
from coterie.evaluation.measure import Measure, Settings
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.table.memory_limit import keep_some_of_what_is_freed

_WORTH_THREADS = 100_000  # released cluster values of an attribute of a section


@dataclass(frozen=True, slots=True)
class Block:
    """Finished cells. values[measure] has the axes cell, run, attribute; NaN: not measured."""

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
    shares: Shares | None = None,
) -> Iterator[Block]:
    """Work through the cells in sections that share their clusters. `shares` takes the place of the cells' own ε."""
    weights = {name: column.attribute.weight for name, column in table.columns.items()}
    share_out = ShareOut(weights)
    keep_some_of_what_is_freed()
    together: dict[tuple[int, str, bool], list[tuple[Cell, Method, Shares]]] = {}
    for cell in cells:
        method = find(cell.method)
        key = (cell.k, method.grouping.name, method.synthesis is not None)
        together.setdefault(key, []).append((cell, method, shares or share_out(cell.epsilon, method)))
    # Threads pay where NumPy works outside the interpreter lock: on long arrays.
    released = {key: table.records // key[0] * len(members) * runs for key, members in together.items()}
    in_threads = {
        key for key, values in released.items() if values >= _WORTH_THREADS or table.records >= LONG
    }
    with ThreadPoolExecutor(CORES) if in_threads else nullcontext() as pool:
        for key, members in together.items():
            k, _, synthetic = key
            shape = (len(table.columns), len(members) * runs)
            empty = np.full((len(measures), *shape), np.nan)
            found = {measure.name: values for measure, values in zip(measures, empty, strict=True)}
            groups = Groups(table, members[0][1].grouping, k)
            seen = [measure for measure in measures if not (synthetic and measure.needs_linkage)]
            section = Section(table, groups, k, members, runs, seed, seen, settings, found)
            numbers = synthetic_tasks(section) if synthetic else number_tasks(section)
            tasks = chain(numbers, category_tasks(section))
            finish(tasks, pool if key in in_threads else None)
            by_cell = {
                name: values.reshape(shape[0], -1, runs).transpose(1, 2, 0) for name, values in found.items()
            }
            yield Block(tuple(cell for cell, _, _ in members), by_cell)
