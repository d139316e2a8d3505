"""Sánchez et al. (univariate), Fig. 1: SSE of AGE and HOURS-PER-WEEK of Adult over k, for three ε, against plain noise
and plain ranking."""

from __future__ import annotations

import numpy as np

from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding, counted
from coterie.papers.grids import line_panels, panels_of, paper_grid
from coterie.papers.tables import adult, numeric_schema

KS = (2, *range(5, 101, 5))
EPSILONS = ("0.1", "1", "10")
MEASURE = "sse-sum"


def _compute() -> ExperimentOutcome:
    table = adult().select(["age", "hours-per-week"])
    schema = numeric_schema(table, table.column_names, alpha=1.5)
    grid = paper_grid(table, schema, ("laplace", "ir", "dp-ir"), EPSILONS, KS, 5, (MEASURE,))
    lines = {e: grid.line(MEASURE, "dp-ir", e) for e in EPSILONS}
    plain = {e: float(grid.line(MEASURE, "laplace", e)[0]) for e in EPSILONS}
    ranking = grid.line(MEASURE, "ir", "1")
    almost = float(lines["0.1"][-1]) / plain["1"]
    crossing = int(np.array(KS)[np.argmax(lines["0.1"] < plain["1"])])
    low = float(lines["10"][-1] / ranking[-1])
    findings = (
        PaperFinding(
            "SSE at ε = 0.1 and k = 100, over that of plain noise at ε = 1",
            "almost 1",
            f"{almost:.2f} (the curve crosses plain noise at k = {crossing})",
            "between 0.67 and 1.5",
            0.67 <= almost <= 1.5,
        ),
        counted(
            "for every ε and k > 1, less error than plain noise",
            "always",
            np.array([lines[e] < plain[e] for e in EPSILONS]),
        ),
        PaperFinding(
            "SSE at ε = 10 and k = 100, over that of ranking without noise",
            "almost as low (about 1)",
            f"{low:.2f}",
            "at most 2",
            low <= 2,
        ),
        PaperFinding(
            "error of ranking alone, over that of plain noise, at its worst k and ε = 10",
            "negligible for most ε",
            f"{float(ranking.max() / plain['10']):.1e}",
            "at most 0.1",
            float(ranking.max() / plain["10"]) <= 0.1,
        ),
    )
    noisy, noiseless = {"dp-ir": "dp-ir", "plain Laplace": "laplace"}, {"individual ranking, no noise": "ir"}
    words = {MEASURE: ("SSE / number of attributes", True)}
    panels = panels_of("Adult: AGE, HOURS-PER-WEEK (30,162 records)", grid, words, noisy, noiseless)
    figure = line_panels(panels, "Sánchez et al. (univariate), Fig. 1: SSE over k, mean of 5 runs")
    return ExperimentOutcome(findings, figure, grid.table())


EXPERIMENT = Experiment(
    name="univariate-fig1",
    title="Adult, two numbers: SSE over k",
    paper="Sánchez et al. (univariate), §5, Fig. 1",
    data=("adult-train",),
    seconds=1,
    compute=_compute,
)
