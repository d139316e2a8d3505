"""Sánchez et al. 2016, Fig. 1: Census, relative error and JSD of dp-ir over k, against plain noise and plain ranking."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding, counted
from coterie.papers.grids import line_panels, panels_of
from coterie.papers.sanchez_2016_grids import (
    CENSUS_KS,
    EPSILONS,
    JSD,
    NO_NAMES,
    RE,
    WIDTHS,
    WORDS,
    census_grids,
)


def _compute() -> ExperimentOutcome:
    found = census_grids(("laplace", "ir", "dp-ir"))
    ks = np.array(CENSUS_KS)

    def line(width: int, measure: str, method: str, epsilon: str) -> np.ndarray:
        return found[width].line(measure, method, epsilon)

    below = np.array([line(w, RE, "dp-ir", e) < line(w, RE, "laplace", e) for w in WIDTHS for e in EPSILONS])
    single = line(1, RE, "dp-ir", "10")
    ranking = line(1, RE, "ir", "10")
    lowest = int(ks[np.argmin(single)])
    worse_single = _first_above(ks, line(1, JSD, "dp-ir", "10"), line(1, JSD, "laplace", "10"))
    worse_many = {
        w: _first_above(ks, line(w, JSD, "dp-ir", "10"), line(w, JSD, "laplace", "10")) for w in (8, 13)
    }
    floor = float(single[-1] / ranking[-1])
    findings = (
        counted(
            "relative error below plain noise for every k > 1, ε and m",
            "always",
            below,
            "at least 98 % of the points (means of 10 random runs)",
            0.98,
        ),
        PaperFinding(
            "m = 1, ε = 10: k with the lowest relative error, after which it grows",
            "about 25",
            str(lowest),
            "between 10 and 40",
            10 <= lowest <= 40,
        ),
        PaperFinding(
            "m = 1, ε = 10, k = 100: relative error over that of ranking alone",
            "equal (1)",
            f"{floor:.2f}",
            "between 0.9 and 1.1",
            0.9 <= floor <= 1.1,
        ),
        PaperFinding(
            "m = 1, ε = 10: JSD above plain noise from k =",
            "just above 10",
            str(worse_single),
            "between 5 and 25",
            worse_single is not None and 5 <= worse_single <= 25,
        ),
        PaperFinding(
            "m = 8 and 13, ε = 10: JSD above plain noise from k =",
            "just above 45",
            ", ".join(f"{k or 'none up to 100'} (m = {w})" for w, k in worse_many.items()),
            "between 30 and 65 for both",
            all(k is not None and 30 <= k <= 65 for k in worse_many.values()),
        ),
    )
    noisy, noiseless = {"dp-ir": "dp-ir", "plain Laplace": "laplace"}, {"individual ranking, no noise": "ir"}
    panels = [
        panel
        for width in WIDTHS
        for panel in panels_of(f"Census, m = {width}", found[width], WORDS, noisy, noiseless)
    ]
    data = pa.concat_tables([found[width].table(attributes=width) for width in WIDTHS])
    figure = line_panels(panels, "Sánchez et al. 2016, Fig. 1: Census, mean of 10 runs")
    return ExperimentOutcome(findings, figure, data, (NO_NAMES,))


def _first_above(ks: np.ndarray, line: np.ndarray, other: np.ndarray) -> int | None:
    """The k from which on the line stays above the other."""
    above = line > other
    for place, k in enumerate(ks):
        if above[place:].all():
            return int(k)
    return None


EXPERIMENT = Experiment(
    name="sanchez-2016-fig1",
    title="Census: relative error and JSD of individual ranking over k",
    paper="Sánchez et al. 2016, §4.3, Fig. 1",
    data=("census",),
    seconds=1,
    compute=_compute,
)
