"""Sánchez et al. 2016, Fig. 4: Adult with categories, individual ranking against insensitive MDAV, with and without
noise."""

from __future__ import annotations

import numpy as np

from coterie.papers.experiment import Experiment, ExperimentOutcome, counted
from coterie.papers.grids import line_panels, panels_of
from coterie.papers.sanchez_2016_grids import (
    ADULT_KS,
    EPSILONS,
    INSENSITIVE,
    JSD,
    MEASURES,
    RE,
    TAXONOMIES,
    WORDS,
    adult_grid,
)


def _compute() -> ExperimentOutcome:
    found = adult_grid(("ir", "dp-ir", "dp-mdav", INSENSITIVE))
    alone = {m: found.line(m, INSENSITIVE, "1") > found.line(m, "ir", "1") for m in MEASURES}
    better = np.array(
        [found.line(m, "dp-ir", e) < found.line(m, "dp-mdav", e) for m in MEASURES for e in EPSILONS]
    )
    beyond = np.array(ADULT_KS) > 100
    beats = (found.line(JSD, "dp-ir", "10") < found.line(JSD, INSENSITIVE, "10"))[beyond]
    findings = (
        counted("insensitive MDAV alone has more relative error than ranking alone", "always", alone[RE]),
        counted("insensitive MDAV alone has more JSD than ranking alone", "always", alone[JSD]),
        counted(
            "with noise, dp-ir is better than dp-mdav in both measures",
            "in most cases",
            better,
            "at least 90 % of the points",
            0.9,
        ),
        counted("ε = 10, k > 100: dp-ir beats even insensitive MDAV without noise (JSD)", "yes", beats),
    )
    noisy = {"dp-ir": "dp-ir", "dp-mdav": "dp-mdav"}
    noiseless = {"individual ranking, no noise": "ir", "insensitive MDAV, no noise": INSENSITIVE}
    panels = panels_of("Adult, 4 attributes", found, WORDS, noisy, noiseless)
    figure = line_panels(panels, "Sánchez et al. 2016, Fig. 4: Adult (30,162 records), mean of 10 runs")
    return ExperimentOutcome(findings, figure, found.table(), (TAXONOMIES,))


EXPERIMENT = Experiment(
    name="sanchez-2016-fig4",
    title="Adult with categories: individual ranking against multivariate groups",
    paper="Sánchez et al. 2016, §4.4, Fig. 4",
    data=("adult-train",),
    seconds=8,
    compute=_compute,
)
