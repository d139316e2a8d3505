"""The grid of 000 Fig. 3 against re-running protect() for every cell, side by side.

4 methods × 20 k × 3 ε × 2 α × 10 runs over the paper's nine Census attributes (an invented table of the same shape where
Census is not here). The naive way is timed on a sample of cells, spread over the grid, interleaved with the fast one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from coterie.compare.comparison import compare
from coterie.compare.grid import make_grid
from coterie.methods import get_method
from coterie.papers.data import available
from coterie.papers.paper_000_fig3 import KS
from coterie.papers.sse_000 import ALPHAS, EPSILONS, METHODS, run_grids
from coterie.papers.tables import CENSUS_000, census, numeric_schema
from coterie.release import protect
from coterie.schema import Schema
from coterie.utility.evaluation import evaluate

RUNS = 10
SAMPLED = 60
LIMIT_SECONDS, LIMIT_RATIO = 3.0, 30.0


def run() -> None:
    table = census(CENSUS_000) if available("census") else _invented(1080, CENSUS_000)
    seconds = min(_timed(lambda: run_grids(table, CENSUS_000, KS, RUNS)) for _ in range(3))
    cells = len(METHODS) * len(KS) * len(EPSILONS) * len(ALPHAS) * RUNS
    print(f"  000 Fig. 3, {cells:,} cells: {seconds:.2f} s (limit {LIMIT_SECONDS:.0f})")
    print("  grids with every measure against protect() alone, and against protect() and the same measures:")
    names = list(CENSUS_000)
    _ratio("Census size, 9 attributes", table, numeric_schema(table, names, 1.5), METHODS, KS)
    _ratio(
        "20 cells: little to share",
        table,
        numeric_schema(table, names, 1.5),
        ("dp-ir", "idp-cbls"),
        (10,),
        ("1",),
    )
    large = _invented(30_000, [f"a{place}" for place in range(4)])
    _ratio("30,000 × 4", large, numeric_schema(large, large.column_names, 1.5), METHODS, (3, 10, 50, 200))
    _ratio(
        "30,000 × 4, multivariate",
        large,
        numeric_schema(large, large.column_names, 1.5),
        ("dp-mdav", "dp-ir"),
        (10, 100),
    )


def _ratio(
    title: str,
    table: pa.Table,
    schema: Schema,
    methods: tuple[str, ...],
    ks: tuple[int, ...],
    epsilons: tuple[str, ...] = EPSILONS,
) -> None:
    grid = make_grid(methods, epsilons, ks, RUNS)
    cells, _ = grid.plan(table.num_rows)
    chosen = [cells[place] for place in np.linspace(0, len(cells) - 1, min(SAMPLED, len(cells))).astype(int)]
    measures = list(compare(table, schema, grid).results.values)
    fast, protecting, measuring = [], 0.0, 0.0
    for part in np.array_split(np.arange(len(chosen)), 3):
        fast.append(_timed(lambda: compare(table, schema, grid)))
        for place in part:
            cell = chosen[place]
            k = None if get_method(cell.method).fixed_k else cell.k
            started = time.perf_counter()
            release = protect(table, schema, method=cell.method, epsilon=cell.epsilon, k=k, seed=int(place))
            protecting += time.perf_counter() - started
            measuring += _timed(
                lambda release=release: evaluate(table, release.table, schema, measures=measures)
            )
    total = len(cells) * RUNS
    naive, measured = protecting / len(chosen) * total, (protecting + measuring) / len(chosen) * total
    best = min(fast)
    print(
        f"    {title:28} {total:6,} cells in {best:6.2f} s; protect() alone {naive:7.1f} s = {naive / best:5.0f}×; "
        f"with measures {measured:7.1f} s = {measured / best:5.0f}× (limit {LIMIT_RATIO:.0f}×)"
    )


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _invented(records: int, names: tuple[str, ...] | list[str]) -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(11))
    return pa.table({name: np.round(draw.lognormal(9, 1, records)) for name in names})
