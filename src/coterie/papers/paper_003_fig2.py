"""003 Fig. 2: Adult, iDP-IR in one place: mean SSE over ε × k."""

from __future__ import annotations

from coterie.papers.experiment import Experiment, Outcome
from coterie.papers.fragmented import adult_grid, baseline

NOTES = (
    "Categories are ranks by frequency, as 003 has them: the order itself discloses the data.",
    "003 states the domain of Wine only (twice the maximum); it is used for Adult's numbers too.",
)


def _compute() -> Outcome:
    return baseline(adult_grid(), "003 Fig. 2: Adult (45,222 records, 10 attributes)", NOTES)


EXPERIMENT = Experiment(
    name="003-fig2",
    title="Adult: iDP-IR in one place, mean SSE over ε and k",
    paper="003 §5.1.1, Fig. 2",
    data=("adult-train", "adult-test"),
    seconds=25,
    compute=_compute,
)
