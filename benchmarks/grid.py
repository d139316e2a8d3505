"""Grids of many shapes against re-running protect() for every cell and run, side by side.

First the grid of Soria-Comas et al., Fig. 3 (4 methods × 20 k × 3 ε × 2 α × 10 runs). Then each shape of
`grid_shapes`: the grid with every measure against the library's `protect()` alone, called once for each cell and run
(timed on a sample spread over the grid, interleaved with the grid), on the clock and in CPU time, and against
`protect()` and the same measures.

`limit` is the upper limit for any shared computation: the same calls of `protect()` against only the work that every
grid must do once (check the table, sort the attributes or find the multivariate groups of each k, draw every run's noise)
and what every release must do by itself (scale that noise, add it, clip). It leaves out the measures, so it cannot be
reached. Last the commands: one `coterie compare`, start-up, figures and report included, against `coterie protect` for
each cell and run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.grid_shapes import Shape, census_table, shapes
from benchmarks.processor import bytecode_kept
from coterie import protect
from coterie.chain.noise.seeded import seeded_words, unit_laplace
from coterie.chain.partition.univariate import ranks
from coterie.comparison.comparison import run_grid
from coterie.comparison.grid import Cell, make_grid
from coterie.evaluation.evaluation import evaluate
from coterie.methods import get_method
from coterie.papers.soria_comas_sse import ALPHAS, CENSUS_KS, EPSILONS, METHODS, both_widths
from coterie.papers.tables import CENSUS_SORIA_COMAS, numeric_schema
from coterie.table.checked import check

Times = NDArray[np.float64]
RUNS = 10
SAMPLED = 6  # cells of each method
ROUNDS = 5
GRIDS = 3  # a round: a grid of few releases is over in milliseconds, and protect() is timed in many cells
LIMIT_SECONDS, LIMIT_RATIO = 1.0, 8.0


def run() -> Iterator[str]:
    table = census_table()

    def figure() -> object:
        both_widths.cache_clear()
        return both_widths(lambda: table.select(CENSUS_SORIA_COMAS), CENSUS_KS, RUNS, False, False)

    seconds = min(_timed(figure)[0] for _ in range(3))
    cells = len(METHODS) * len(CENSUS_KS) * len(EPSILONS) * len(ALPHAS) * RUNS
    yield f"The grid of Soria-Comas et al., Fig. 3, {cells:,} releases: {seconds:.2f} s (limit {LIMIT_SECONDS:.0f} s).\n"
    yield (
        f"| table and grid (wanted: {LIMIT_RATIO:.0f}) | releases | grid, ms | `protect()`, ms | ratio | in CPU time "
        "| upper limit for any shared computation | against `protect()` and measures |"
    )
    yield "|---" * 8 + "|"
    yield from map(_ratio, shapes())
    yield ""
    yield from _commands()


def _ratio(shape: Shape) -> str:
    table, schema = shape.table, shape.schema
    grid = make_grid(shape.methods, shape.epsilons, shape.ks, shape.runs)
    cells, _ = grid.plan(table.num_rows)
    # A few cells of each method, spread over ε and k, stand for all of them.
    places: list[int] = []
    for method in shape.methods:
        mine = [place for place, cell in enumerate(cells) if cell.method == method]
        places += [mine[at] for at in np.unique(np.linspace(0, len(mine) - 1, SAMPLED).astype(int))]
    measures = list(run_grid(table, schema, grid).results.values)
    fast, once = np.full(2, np.inf), np.full(2, np.inf)
    protecting, measuring = np.full((len(places), 2), np.inf), np.full((len(places), 2), np.inf)
    for round_ in range(ROUNDS):
        for _ in range(GRIDS):
            fast = np.minimum(fast, _timed(lambda: run_grid(table, schema, grid)))
        once = np.minimum(once, _timed(lambda: _once(shape, cells)))
        for number, place in enumerate(places):
            took = _timed(lambda place=place, seed=round_: _protect(shape, cells[place], seed))
            protecting[number] = np.minimum(protecting[number], took)
            if round_ == 0:
                released = _protect(shape, cells[place], 0).table
                measuring[number] = _timed(
                    lambda released=released: evaluate(table, released, schema, measures=measures)
                )
    calls = {name: sum(cell.method == name for cell in cells) * shape.runs for name in shape.methods}
    sampled = [cells[place].method for place in places]
    weight = np.array([calls[name] / sampled.count(name) for name in sampled])
    total, with_measures = weight @ protecting, weight @ (protecting + measuring)
    # What is shared where bounds are paid for, or rows are drawn anew, is not in `_once`: no bound is known there.
    unknown = bool(schema.searched) or any(get_method(name).synthetic for name in shape.methods)
    ratio = f"{total[0] / fast[0]:.0f}"
    return (
        f"| {shape.title} | {len(cells) * shape.runs:,} | {fast[0] * 1e3:.1f} | {total[0] * 1e3:,.0f} "
        f"| {ratio if total[0] >= LIMIT_RATIO * fast[0] else f'**{ratio}**'} | {total[1] / fast[1]:.0f} "
        f"| {'–' if unknown else f'{total[1] / once[1]:.0f}'} | {with_measures[1] / fast[1]:.0f} |"
    )


def _protect(shape: Shape, cell: Cell, seed: int):  # type: ignore[no-untyped-def]
    k = None if get_method(cell.method).fixed_k else cell.k
    return protect(shape.table, shape.schema, method=cell.method, epsilon=cell.epsilon, k=k, seed=seed)


def _once(shape: Shape, cells: list[Cell]) -> None:
    """What no grid can do without: the table checked, attributes sorted, groups found, noise drawn and put on."""
    columns = check(shape.table, shape.schema).columns
    records = shape.table.num_rows
    if not all(get_method(cell.method).grouping.alone for cell in cells):
        for column in columns.values():
            ranks(column.position)
    groupings = {
        (get_method(cell.method).grouping.name, cell.k): get_method(cell.method).grouping for cell in cells
    }
    for (_, k), grouping in groupings.items():
        if grouping.multivariate:
            grouping.prepare(list(columns.values()), k)
    streams = [(run, name) for name in columns for run in range(shape.runs)]
    unit = unit_laplace(seeded_words(streams, records // min(cell.k for cell in cells)))
    for cell in cells:
        if get_method(cell.method).adds_noise and not get_method(cell.method).synthetic:
            for first in range(0, len(unit), 4):  # a few streams at a time, in the cache
                rows = unit[first : first + 4, : records // cell.k] * 2.0
                rows += 1.0
                np.clip(rows, -1.0, 1.0, out=rows)


def _commands() -> Iterator[str]:
    """As a user would re-run it: a new process each time."""
    table = census_table()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(table, folder / "census.parquet")
        (folder / "schema.yaml").write_text(numeric_schema(table, alpha=1.5).to_yaml(), encoding="utf-8")
        given = ["census.parquet", "-s", "schema.yaml"]
        once = min(
            _command(
                folder, "protect", *given, "-m", "dp-ir", "-e", "1", "-k", "10", "-o", f"out{turn}.parquet"
            )
            for turn in range(3)
        )
        for releases, grid in (
            (20, ["-m", "dp-ir,idp-cbls", "-e", "1", "-k", "10"]),
            (1_830, ["-m", ",".join(METHODS), "-e", ",".join(EPSILONS), "-k", "5-100:5"]),
        ):
            whole = min(  # the first one compiles Python
                _command(folder, "compare", *given, *grid, "-o", f"grid{releases}-{turn}", "--no-risk")
                for turn in range(2)
            )
            yield (
                f"As commands, start-up, figures and report included: `coterie compare` {whole:.1f} s for {releases:,} "
                f"releases, `coterie protect` {once:.2f} s each, {once * releases / whole:.0f} times faster.\n"
            )


def _command(folder: Path, *words: str) -> float:
    """Seconds on the clock."""
    call = [sys.executable, "-c", "from coterie.cli import main; main()", *words]
    work = partial(subprocess.run, call, cwd=folder, env=bytecode_kept(), check=True, capture_output=True)
    return float(_timed(work)[0])


def _timed(work: Callable[[], object]) -> Times:
    """Seconds on the clock and of the processor: the second change little on a busy machine."""
    started, busy = time.perf_counter(), time.process_time()
    work()
    return np.array([time.perf_counter() - started, time.process_time() - busy])
