"""Del Vasto-Terrientes et al., Fig. 2: Adult, iDP-IR in one place: mean SSE over ε × k."""

from __future__ import annotations

from coterie.papers.expectations import ranking_alone
from coterie.papers.experiment import Experiment, ExperimentOutcome
from coterie.papers.fragmented import (
    ADULT_KS,
    READINGS,
    RUNS,
    adult_grid,
    adult_schema,
    adult_table,
    baseline,
    of_adult,
)

NOTES = ("Categories are ranks by frequency, as in the paper: the order itself discloses the data.",)


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    grid = adult_grid(reading, runs)
    alone = ranking_alone(adult_table(), adult_schema(reading), ADULT_KS)
    title = "Del Vasto-Terrientes et al., Fig. 2: Adult (45,222 records, 10 attributes)"
    return baseline(grid, of_adult(grid, reading), alone, reading, title, NOTES)


EXPERIMENT = Experiment(
    name="fragmented-fig2",
    title="Adult: iDP-IR in one place, mean SSE over ε and k",
    paper="Del Vasto-Terrientes et al. (fragmented data), §5.1.1, Fig. 2",
    data=("adult-train", "adult-test"),
    seconds=60,
    compute=_compute,
    readings=READINGS,
    headline="sigma",
    runs=RUNS,
)
