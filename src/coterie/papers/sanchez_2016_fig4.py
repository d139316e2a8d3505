"""Sánchez et al. 2016, Fig. 4: Adult with categories, individual ranking against insensitive MDAV, with and without
noise."""

from __future__ import annotations

import numpy as np

from coterie.papers.experiment import Experiment, ExperimentOutcome
from coterie.papers.grids import line_panels, panels_of
from coterie.papers.judging import counted, everywhere
from coterie.papers.sanchez_2016_grids import (
    ADULT_KS,
    ADULT_RUNS,
    EPSILONS,
    INSENSITIVE,
    JSD,
    MEASURES,
    PRINTED,
    RE,
    TAXONOMIES,
    WORDS,
    adult_formula,
    adult_grid,
)


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    found = adult_grid(("ir", "dp-ir", "dp-mdav", INSENSITIVE), runs)
    alone = {m: found.line(m, INSENSITIVE, "1") > found.line(m, "ir", "1") for m in MEASURES}
    better = np.array(
        [found.lines(m, "dp-mdav", e) - found.lines(m, "dp-ir", e) for m in MEASURES for e in EPSILONS]
    )
    beyond = np.array(ADULT_KS) > 100
    beats = (found.lines(JSD, INSENSITIVE, "10") - found.lines(JSD, "dp-ir", "10"))[beyond]
    judgements = (
        counted(
            "insensitive MDAV alone has more relative error than ranking alone",
            "always",
            alone[RE],
            "every point",
        ),
        counted(
            "insensitive MDAV alone has more JSD than ranking alone", "always", alone[JSD], "every point"
        ),
        everywhere("with noise, dp-ir is better than dp-mdav in both measures", "in most cases", better, 0.1),
        everywhere("ε = 10, k > 100: dp-ir beats even insensitive MDAV without noise (JSD)", "yes", beats),
        adult_formula(found),
    )
    noisy = {"dp-ir": "dp-ir", "dp-mdav": "dp-mdav"}
    noiseless = {"individual ranking, no noise": "ir", "insensitive MDAV, no noise": INSENSITIVE}
    panels = panels_of("Adult, 4 attributes", found, WORDS, noisy, noiseless)
    figure = line_panels(panels, f"Sánchez et al. 2016, Fig. 4: Adult (30,162 records), mean of {runs} runs")
    return ExperimentOutcome(judgements, figure, found.table(), (TAXONOMIES,))


EXPERIMENT = Experiment(
    name="sanchez-2016-fig4",
    title="Adult with categories: individual ranking against multivariate groups",
    paper="Sánchez et al. 2016, §4.4, Fig. 4",
    data=("adult-train",),
    seconds=40,
    compute=_compute,
    readings=(PRINTED,),
    runs=ADULT_RUNS,
)
