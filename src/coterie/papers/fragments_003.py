"""What 003 Fig. 5 and 6 share: the same method in one place, over rows of several owners, over their attributes.

Rows are dealt to the owners anew in every run (003 §5.1.2). Each owner protects its fragment exactly as it would over
the services: the same method, its share of ε, and the seed that coterie.federation.seeds gives it. The error is that
of the whole table, Eq. (5), with the variances of the original one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.budget import parse_epsilon
from coterie.columns.column import NumericColumn
from coterie.compare.engine import run_cells
from coterie.compare.grid import Cell
from coterie.compare.sorted_table import SortedTable
from coterie.federation.seeds import owner_seed
from coterie.papers.sse_003 import EPSILONS, RUNS
from coterie.schema import Schema
from coterie.table import check
from coterie.utility.mean_sse import by_record
from coterie.utility.measure import ByAttribute, Measure, Settings
from coterie.utility.released import Released

Floats = NDArray[np.float64]
Describe = Callable[[pa.Table], Schema]
METHOD = "idp-ls"


def _squared(released: Released, settings: Settings) -> Floats:
    return released.squared_error


def _squared_numbers(column: NumericColumn, released: Floats, settings: Settings) -> float:
    return float(np.sum((released - column.values) ** 2))


# Not scaled: fragments are added up first, and the variance of the whole table divides the sum.
SQUARED = Measure(
    name="squared error",
    title="sum of squared errors",
    meaning="in squared units of the attribute",
    papers="003 Eq. (5), before division",
    needs_linkage=True,
    attribute=ByAttribute(numbers=_squared_numbers, clusters=_squared, combine=by_record),
    rank=99,
)


@dataclass(frozen=True)
class Fragmented:
    """Mean SSE over k (rows) and ε (columns): in one place, over owners of rows, over owners of attributes."""

    ks: tuple[int, ...]
    central: Floats
    horizontal: Floats
    vertical: Floats

    def difference(self, name: str) -> Floats:
        """As the papers' heatmaps: a fragmented release that is better counts as 0."""
        return np.asarray(np.maximum(getattr(self, name) - self.central, 0.0), dtype=np.float64)

    def table(self) -> pa.Table:
        places = [(k, epsilon) for k in range(len(self.ks)) for epsilon in range(len(EPSILONS))]
        columns: dict[str, list[object]] = {
            "k": [self.ks[k] for k, _ in places],
            "epsilon": [EPSILONS[epsilon] for _, epsilon in places],
        }
        for name in ("central", "horizontal", "vertical"):
            columns[name] = [float(getattr(self, name)[place]) for place in places]
        return pa.table(columns)


def fragmented(
    table: pa.Table,
    describe: Describe,
    describe_part: Describe,
    rows: Sequence[int],
    holders: Mapping[str, Sequence[str]],
    ks: Sequence[int],
    runs: int = RUNS,
) -> Fragmented:
    """`describe` gives the schema of the whole table, `describe_part` that of an owner who only sees its rows."""
    schema = describe(table)
    variance = _variances(table, schema)
    budgets = [parse_epsilon(text) for text in EPSILONS]
    count = table.num_rows
    whole = _errors(table, schema, ks, budgets, range(runs)) / count / variance**2
    dealt = np.zeros_like(whole)
    for run in range(runs):
        order = np.random.Generator(np.random.PCG64(run)).permutation(count)
        for number, chosen in enumerate(np.split(order, np.cumsum(rows)[:-1]), start=1):
            fragment = table.take(pa.array(chosen))
            seed = owner_seed(run, f"owner-{number}")
            dealt[:, run : run + 1] += _errors(fragment, describe_part(fragment), ks, budgets, [seed])
    dealt = dealt / count / variance**2
    names = [attribute.name for attribute in schema.attributes]
    split = np.zeros_like(whole)
    for holder, held in holders.items():
        described = Schema(attributes=tuple(schema[name] for name in held))
        shares = [budget / len(holders) for budget in budgets]  # 003 §4.2.2: ε/m an owner, split again over l
        seeds = [owner_seed(run, holder) for run in range(runs)]
        places = [names.index(name) for name in held]
        split[:, :, places] = (
            _errors(table.select(list(held)), described, ks, shares, seeds) / count / variance[places] ** 2
        )
    shape = (len(ks), len(EPSILONS))
    means = [
        by_record(np.moveaxis(errors, 2, 0)).mean(axis=1).reshape(shape) for errors in (whole, dealt, split)
    ]
    return Fragmented(tuple(ks), *means)


def _errors(
    table: pa.Table,
    schema: Schema,
    ks: Sequence[int],
    budgets: Sequence[Fraction],
    seeds: Sequence[int] | range,
) -> Floats:
    """Squared errors with the axes (k, ε) cell, run, attribute."""
    ready = SortedTable(check(table.select([a.name for a in schema.attributes]), schema).columns)
    cells = [Cell(METHOD, k, budget) for k in ks for budget in budgets]
    found = np.zeros((len(cells), len(seeds), len(schema.attributes)))
    # Seeds that follow each other share their work; those of owners do not follow each other.
    consecutive = isinstance(seeds, range)
    for place, seed in enumerate([seeds[0]] if consecutive else seeds):
        runs = len(seeds) if consecutive else 1
        for block in run_cells(ready, cells, runs, seed, [SQUARED], Settings()):
            for values, cell in zip(block.values[SQUARED.name], block.cells, strict=True):
                found[cells.index(cell), place : place + runs] = values
    return found


def _variances(table: pa.Table, schema: Schema) -> Floats:
    columns = check(table.select([a.name for a in schema.attributes]), schema).columns
    values = [column.values for column in columns.values() if isinstance(column, NumericColumn)]
    return np.array([np.var(column, ddof=1) for column in values])
