"""Del Vasto-Terrientes et al., Fig. 3: red and white Wine, iDP-IR in one place: mean SSE over ε × k."""

from __future__ import annotations

from coterie.papers.experiment import Experiment, ExperimentOutcome
from coterie.papers.fragmented import baseline, wine_grid


def _compute() -> ExperimentOutcome:
    return baseline(
        wine_grid(), "Del Vasto-Terrientes et al., Fig. 3: Wine Quality (6,497 records, 11 attributes)", ()
    )


EXPERIMENT = Experiment(
    name="fragmented-fig3",
    title="both Wines: iDP-IR in one place, mean SSE over ε and k",
    paper="Del Vasto-Terrientes et al. (fragmented data), §5.1.1, Fig. 3",
    data=("wine-red", "wine-white"),
    seconds=5,
    compute=_compute,
)
