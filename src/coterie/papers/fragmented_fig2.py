"""Del Vasto-Terrientes et al., Fig. 2: Adult, iDP-IR in one place: mean SSE over ε × k."""

from __future__ import annotations

from coterie.papers.experiment import Experiment, ExperimentOutcome
from coterie.papers.fragmented import adult_grid, baseline

NOTES = (
    "Categories are ranks by frequency, as in the paper: the order itself discloses the data.",
    "The paper states the domain of Wine only (twice the maximum); it is used for Adult's numbers too.",
)


def _compute() -> ExperimentOutcome:
    return baseline(
        adult_grid(), "Del Vasto-Terrientes et al., Fig. 2: Adult (45,222 records, 10 attributes)", NOTES
    )


EXPERIMENT = Experiment(
    name="fragmented-fig2",
    title="Adult: iDP-IR in one place, mean SSE over ε and k",
    paper="Del Vasto-Terrientes et al. (fragmented data), §5.1.1, Fig. 2",
    data=("adult-train", "adult-test"),
    seconds=25,
    compute=_compute,
)
