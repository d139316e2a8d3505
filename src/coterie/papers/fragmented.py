"""What the experiments on Del Vasto-Terrientes et al. (fragmented data) share: grids, fragments, and the claims checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pyarrow as pa

from coterie.chain.noise.seeded import owner_seed
from coterie.comparison.engine import Trials, run_cells
from coterie.comparison.grid import Cell
from coterie.comparison.shared_work import SortedTable
from coterie.evaluation.mean_sse import by_record
from coterie.evaluation.measure import Measure, Settings
from coterie.evaluation.normalised_sse import SUMMED_SQUARES
from coterie.papers.experiment import ExperimentOutcome, PaperFinding
from coterie.papers.grids import PaperGrid, heatmaps, paper_grid
from coterie.papers.tables import ADULT_FRAGMENTED, adult, adult_fragmented_schema, both_wines, numeric_schema
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Schema
from coterie.schema.exact import parse_epsilon
from coterie.table.checked import check
from coterie.table.columns.column import NumericColumn

# What Del Vasto-Terrientes et al., Fig. 2–4 share: iDP-IR over ε × k on Adult and on both Wines, 50 runs.

EPSILONS = ("0.1", "0.25", "0.5", "0.75", "1")
ADULT_KS = (1, 50, 100, 250, 500, 1000, 2000)
WINE_KS = (1, 50, 100, 150, 200, 250, 300)
MEASURES = ("sse-paper", "sse")
RUNS = 50


def _grid(table: pa.Table, schema: Schema, ks: Sequence[int]) -> PaperGrid:
    return paper_grid(table, schema, ("idp-ls", "dp-ir"), EPSILONS, ks, RUNS, MEASURES)


@lru_cache(maxsize=1)
def adult_grid() -> PaperGrid:
    table = adult(("adult-train", "adult-test")).select(list(ADULT_FRAGMENTED))
    return _grid(table, adult_fragmented_schema(table), ADULT_KS)


@lru_cache(maxsize=1)
def wine_grid() -> PaperGrid:
    table = both_wines()
    return _grid(table, numeric_schema(table, table.column_names, alpha=2.0), WINE_KS)


def field(grid: PaperGrid, method: str, measure: str = "sse-paper") -> np.ndarray:
    """Rows k, columns ε."""
    return np.column_stack([grid.line(measure, method, epsilon) for epsilon in grid.epsilons])


def falls(values: np.ndarray, axis: int) -> tuple[int, int]:
    """How many steps along the axis go down (or stay), of how many."""
    steps = np.diff(values, axis=axis) <= 0
    return int(steps.sum()), steps.size


def baseline(grid: PaperGrid, title: str, notes: tuple[str, ...]) -> ExperimentOutcome:
    values = field(grid, "idp-ls")
    by_epsilon, by_k = falls(values, 1), falls(values, 0)
    alone, grouped = values[0], values[-1]
    drop = float(alone[-1] / alone[0])
    gain = float(np.min(alone / grouped))
    findings = (
        _monotone("the error falls as ε grows", by_epsilon),
        _monotone("the error falls as k grows", by_k),
        PaperFinding(
            "k = 1: error at ε = 1 over that at ε = 0.1",
            "minimal decrease (near 1)",
            f"{drop:.2f}",
            "at least 0.8",
            drop >= 0.8,
        ),
        PaperFinding(
            "grouping lowers the error: k = 1 over the largest k, at the ε where it helps least",
            "significantly",
            f"{gain:.1f} times",
            "at least 2 times",
            gain >= 2,
        ),
    )
    figure = heatmaps(
        [("as printed, Eq. (5)", grid.ks, values), ("scale-free", grid.ks, field(grid, "idp-ls", "sse"))],
        EPSILONS,
        "mean SSE",
        f"{title}, mean of {RUNS} runs",
        log=True,
    )
    return ExperimentOutcome(findings, figure, grid.table(), notes)


def _monotone(claim: str, steps: tuple[int, int]) -> PaperFinding:
    went, of = steps
    return PaperFinding(
        claim, "everywhere", f"{went} of {of} steps", "at least 90 % of the steps", went >= 0.9 * of
    )


# What Del Vasto-Terrientes et al., Fig. 5 and 6 share: the same method in one place, over rows of several owners, over
# their attributes.
#
# Rows are dealt to the owners anew in every run (Del Vasto-Terrientes et al., §5.1.2). Each owner protects its
# fragment exactly as it would over the services: the same method, its share of ε, and the seed that
# coterie.chain.noise.seeded gives it. The error is that
# of the whole table, Eq. (5), with the variances of the original one.

Describe = Callable[[pa.Table], Schema]
METHOD = "idp-ls"


# Not scaled: fragments are added up first, and the variance of the whole table divides the sum.
SQUARED = Measure(
    name="squared error",
    title="sum of squared errors",
    meaning="in squared units of the attribute",
    papers="Del Vasto-Terrientes et al., Eq. (5), before division",
    needs_linkage=True,
    attribute=replace(SUMMED_SQUARES, combine=by_record),
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
        shares = [
            budget / len(holders) for budget in budgets
        ]  # Del Vasto-Terrientes et al., §4.2.2: ε/m an owner, split again over l
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
        for block in run_cells(ready, cells, Trials(runs, seed, [SQUARED], Settings())):
            for values, cell in zip(block.values[SQUARED.name], block.cells, strict=True):
                found[cells.index(cell), place : place + runs] = values
    return found


def _variances(table: pa.Table, schema: Schema) -> Floats:
    columns = check(table.select([a.name for a in schema.attributes]), schema).columns
    values = [column.values for column in columns.values() if isinstance(column, NumericColumn)]
    return np.array([np.var(column, ddof=1) for column in values])
