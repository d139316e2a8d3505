"""What the experiments on Del Vasto-Terrientes et al. (fragmented data) in one place share: readings, grids, claims."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from coterie.papers.expectations import Expected, closed, expected, formula
from coterie.papers.experiment import ExperimentOutcome, Judgement, PaperReading, Support, as_printed
from coterie.papers.grids import Key, PaperGrid, heatmaps, paper_grid
from coterie.papers.judging import everywhere, jackknife, within
from coterie.papers.tables import ADULT_FRAGMENTED, adult, adult_fragmented_schema, both_wines, numeric_schema
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Schema

EPSILONS = ("0.1", "0.25", "0.5", "0.75", "1")
ADULT_KS = (1, 50, 100, 250, 500, 1000, 2000)
WINE_KS = (1, 50, 100, 150, 200, 250, 300)
RUNS = 50  # of the paper

PRINTED = as_printed("Eq. (5) divides each distance by σ², and has 1/l before the root")
SIGMA = PaperReading(
    "sigma",
    "σ for σ² and 1/l inside the root of Eq. (5)",
    "the distance is “the average of the distances between attributes” (§5.1), and Wine's error at ε = 0.1 is “in the "
    "thousands” (§5.1.4)",
    Support.SUPPORTED,
)
MAX_DOMAIN = PaperReading(
    "max-domain",
    "sigma, and domains [0, max] for Adult's two numbers",
    "only Wine's domain is stated, “twice the maximum attribute value” (§5.1.2, under Wine Quality)",
    Support.SILENT,
)
WINE_READINGS = (PRINTED, SIGMA)
READINGS = (PRINTED, SIGMA, MAX_DOMAIN)
RESTS_ON = "Proposition 2 of Soria-Comas et al., ε/l per attribute (§3.3), rounding after the noise (§5.1)"


def measure_of(reading: str) -> str:
    return "sse-paper" if reading == PRINTED.name else "sse"


def adult_table() -> pa.Table:
    return adult(("adult-train", "adult-test")).select(list(ADULT_FRAGMENTED))


def adult_schema(reading: str) -> Schema:
    return adult_fragmented_schema(adult_table(), 1.0 if reading == MAX_DOMAIN.name else 2.0)


def wine_schema() -> Schema:
    table = both_wines()
    return numeric_schema(table, table.column_names, alpha=2.0)


@lru_cache(maxsize=1)
def _adult(alpha_of: str, runs: int) -> PaperGrid:
    return paper_grid(adult_table(), adult_schema(alpha_of), METHODS, EPSILONS, ADULT_KS, runs, MEASURES)


@lru_cache(maxsize=1)
def _wine(runs: int) -> PaperGrid:
    return paper_grid(both_wines(), wine_schema(), METHODS, EPSILONS, WINE_KS, runs, MEASURES)


METHODS = ("idp-ls", "dp-ir")
MEASURES = ("sse-paper", "sse")


def adult_grid(reading: str, runs: int) -> PaperGrid:
    return _adult(MAX_DOMAIN.name if reading == MAX_DOMAIN.name else SIGMA.name, runs)


def wine_grid(runs: int) -> PaperGrid:
    return _wine(runs)


def of_adult(grid: PaperGrid, reading: str) -> dict[Key, Expected]:
    return expected(adult_table(), adult_schema(reading), grid.values["sse"], measure_of(reading))


def of_wine(grid: PaperGrid, reading: str) -> dict[Key, Expected]:
    return expected(both_wines(), wine_schema(), grid.values["sse"], measure_of(reading))


def field(grid: PaperGrid, method: str, measure: str) -> Floats:
    """Rows k, columns ε."""
    return np.column_stack([grid.line(measure, method, epsilon) for epsilon in grid.epsilons])


def fields(grid: PaperGrid, method: str, measure: str) -> Floats:
    """The same for every run, on the last axis."""
    return np.stack([grid.lines(measure, method, epsilon) for epsilon in grid.epsilons], axis=1)


def baseline(
    grid: PaperGrid,
    known: dict[Key, Expected],
    alone: Judgement,
    reading: str,
    title: str,
    notes: tuple[str, ...] = (),
    thousands: bool = False,
) -> ExperimentOutcome:
    measure = measure_of(reading)
    exact = closed(known, grid, measure)
    values, runs = field(exact, "idp-ls", measure), fields(grid, "idp-ls", measure)

    def of(grid: PaperGrid) -> Floats:
        return field(grid, "idp-ls", measure)

    found: list[Judgement] = [
        *(
            everywhere(
                f"the error falls as {what} grows", "everywhere", -np.diff(runs, axis=axis), 0.1, what="steps",
                exact=-np.diff(values, axis=axis),
            )
            for what, axis in (("ε", 1), ("k", 0))
        ),
        within(
            "k = 1: error at ε = 1 over that at ε = 0.1", "minimal decrease (near 1)",
            jackknife(lambda g: of(g)[0, -1] / of(g)[0, 0], grid, exact=[exact]), 0.8, np.inf, "at least 0.8", "{:.3f}",
        ),
        within(
            "grouping lowers the error: k = 1 over the largest k, at the ε where it helps least", "significantly",
            jackknife(lambda g: np.min(of(g)[0] / of(g)[-1]), grid, exact=[exact]), 2, np.inf, "at least 2 times",
        ),
    ]  # fmt: skip
    if thousands:
        found.append(
            within(
                "ε = 0.1, k from 50 to 300: mean SSE", "in the thousands (§5.1.4)",
                jackknife(lambda g: of(g)[1:, 0], grid, exact=[exact]), 1_000, 10_000, "from 1,000 to 10,000", "{:,.4g}",
            )
        )  # fmt: skip
    found += [formula(known, grid, measure, RESTS_ON), alone]
    figure = heatmaps(
        [
            (
                "as printed, Eq. (5)" if reading == PRINTED.name else "σ and 1/l",
                grid.ks,
                field(grid, "idp-ls", measure),
            )
        ],
        EPSILONS,
        "mean SSE",
        f"{title}, mean of {grid.runs} runs",
        log=True,
    )
    return ExperimentOutcome(tuple(found), figure, grid.table(), notes)
