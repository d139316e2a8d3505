"""003 Fig. 3: red and white Wine, iDP-IR in one place: mean SSE over ε × k."""

from __future__ import annotations

from coterie.papers.experiment import Experiment, Outcome
from coterie.papers.fragmented import baseline, wine_grid


def _compute() -> Outcome:
    return baseline(wine_grid(), "003 Fig. 3: Wine Quality (6,497 records, 11 attributes)", ())


EXPERIMENT = Experiment(
    name="003-fig3",
    title="both Wines: iDP-IR in one place, mean SSE over ε and k",
    paper="003 §5.1.1, Fig. 3",
    data=("wine-red", "wine-white"),
    seconds=5,
    compute=_compute,
)
