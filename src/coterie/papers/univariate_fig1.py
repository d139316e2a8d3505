"""Sánchez et al. (univariate), Fig. 1: SSE of AGE and HOURS-PER-WEEK of Adult over k, for three ε, against plain noise
and plain ranking."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from coterie.papers.closed_form import grouped
from coterie.papers.expectations import closed, expected, formula
from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperReading, Support, as_printed
from coterie.papers.grids import PaperGrid, line_panels, panels_of, paper_grid
from coterie.papers.judging import everywhere, jackknife, within
from coterie.papers.tables import adult, numeric_schema
from coterie.schema.arrays import Floats

KS = (2, *range(5, 101, 5))
EPSILONS = ("0.1", "1", "10")
MEASURE = "sse-sum"
ATTRIBUTES = ("age", "hours-per-week")
RUNS = 100

PRINTED = as_printed("at ε = 0.1 and k = 100 the error nearly is that of 1.0-differential privacy (§5)")
TEN = PaperReading(
    "ten",
    "10.0-differential privacy for 1.0-differential privacy",
    "§5 prints both scales, Δ/(k × (ε/m)) and mΔ/ε: at k = 100 they are equal where ε is 100 times larger",
    Support.SUPPORTED,
)


@lru_cache(maxsize=1)
def _grid(runs: int) -> PaperGrid:
    table = adult().select(list(ATTRIBUTES))
    schema = numeric_schema(table, alpha=1.5)
    return paper_grid(table, schema, ("laplace", "ir", "dp-ir"), EPSILONS, KS, runs, (MEASURE,))


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    grid, table = _grid(runs), adult().select(list(ATTRIBUTES))
    known = expected(table, numeric_schema(table, alpha=1.5), grid.values[MEASURE], MEASURE)
    exact = closed(known, grid, MEASURE)

    def gaps(grid: PaperGrid) -> Floats:
        return np.array(
            [grid.lines(MEASURE, "laplace", e) - grid.lines(MEASURE, "dp-ir", e) for e in EPSILONS]
        )

    def almost(epsilon: str, grid: PaperGrid) -> Floats:
        return np.asarray(grid.line(MEASURE, "dp-ir", "0.1")[-1] / grid.line(MEASURE, "laplace", epsilon)[0])

    against = "10" if reading == TEN.name else "1"
    first = within(
        "error at ε = 0.1 and k = 100, over that of plain noise at “1.0”", "almost equal (1)",
        jackknife(lambda g: almost(against, g), grid, exact=[exact]), 0.9, 1.1, "between 0.9 and 1.1", "{:.3f}",
    )  # fmt: skip
    judgements = (
        first if first.holds else replace(first, slip=_proof(float(almost("1", exact)), float(almost("10", exact)))),
        everywhere("for every ε and k > 1, less error than plain noise", "always", gaps(grid), exact=gaps(exact)),
        within(
            "error at ε = 10 and k = 100, over that of ranking without noise", "almost as low (about 1)",
            jackknife(lambda g: g.line(MEASURE, "dp-ir", "10")[-1] / g.line(MEASURE, "ir", "1")[-1], grid, exact=[exact]),
            -np.inf, 2, "at most 2",
        ),
        within(
            "error of ranking alone, over that of plain noise, at its worst k and ε = 10", "negligible for most ε",
            jackknife(lambda g: g.line(MEASURE, "ir", "1").max() / g.line(MEASURE, "laplace", "10")[0], grid, exact=[exact]),
            -np.inf, 0.1, "at most 0.1", "{:.1e}",
        ),
        formula(known, grid, MEASURE, "scale Δ(A)/(k × (ε/m)), outputs bounded to [0, 1.5 max] (§5)"),
    )  # fmt: skip
    noisy, noiseless = {"dp-ir": "dp-ir", "plain Laplace": "laplace"}, {"individual ranking, no noise": "ir"}
    words = {MEASURE: ("SSE / number of attributes", True)}
    panels = panels_of("Adult: AGE, HOURS-PER-WEEK (30,162 records)", grid, words, noisy, noiseless)
    figure = line_panels(panels, f"Sánchez et al. (univariate), Fig. 1: SSE over k, mean of {runs} runs")
    return ExperimentOutcome(judgements, figure, grid.table(), (CHANGED,))


def _proof(with_one: float, with_ten: float) -> str:
    """“1.0” must read 10.0: the scales that the paper prints, and the errors they give."""
    values, high = np.arange(200.0), 150.0
    ours = grouped(values, "dp-ir", 100, 0, high, 0.1).scale[0]
    plain = grouped(values, "laplace", 1, 0, high, 10).scale[0]
    if not (np.isclose(ours, plain) and abs(with_ten - 1) < 0.01 < abs(with_one - 1)):
        return ""
    return (
        f"“1.0” must read 10.0: the scale mΔ/(kε) at ε = 0.1 and k = 100 is that of plain noise at ε = 10 (error ratio "
        f"{with_ten:.3f}); to plain noise at ε = 1 the ratio is {with_one:.2f}"
    )


CHANGED = (
    "Changed after a first result was seen. First: the ratio to plain noise at ε = 1 between 0.67 and 1.5 (0.21 failed). "
    "With closed forms the limits are 0.9 and 1.1."
)

EXPERIMENT = Experiment(
    "univariate-fig1", "Adult, two numbers: SSE over k", "Sánchez et al. (univariate), §5, Fig. 1",
    ("adult-train",), 20, _compute, (PRINTED, TEN), runs=RUNS,
)  # fmt: skip
