"""Sánchez et al. 2016, Fig. 2: Adult with categories, relative error and JSD of dp-ir over k, against both baselines."""

from __future__ import annotations

import numpy as np

from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding, counted
from coterie.papers.grids import line_panels, panels_of
from coterie.papers.sanchez_2016_grids import EPSILONS, JSD, MEASURES, RE, TAXONOMIES, WORDS, adult_grid


def _compute() -> ExperimentOutcome:
    found = adult_grid(("laplace", "ir", "dp-ir"))
    below = {
        measure: np.array(
            [found.line(measure, "dp-ir", e) < found.line(measure, "laplace", e) for e in EPSILONS]
        )
        for measure in MEASURES
    }
    alone = float(found.line(RE, "ir", "10")[-1])
    more = float(found.line(RE, "dp-ir", "10")[-1]) / alone - 1
    alike = [
        float(np.corrcoef(np.log(found.line(RE, "dp-ir", e)), found.line(JSD, "dp-ir", e))[0, 1])
        for e in EPSILONS
    ]
    findings = (
        counted("relative error below plain noise for every k > 1 and ε", "always", below[RE]),
        counted("JSD below plain noise for every k > 1 and ε", "always", below[JSD]),
        PaperFinding(
            "JSD and relative error behave alike over k (correlation with log RE, least of three ε)",
            "similar",
            f"{min(alike):.2f}",
            "at least 0.8",
            min(alike) >= 0.8,
        ),
        PaperFinding(
            "ε = 10, k = 200: relative error above that of ranking alone by",
            "a noticeable difference",
            f"{more:.0%} of it",
            "at least a tenth of it",
            more >= 0.1,
        ),
    )
    noisy, noiseless = {"dp-ir": "dp-ir", "plain noise": "laplace"}, {"individual ranking, no noise": "ir"}
    panels = panels_of("Adult, 4 attributes", found, WORDS, noisy, noiseless)
    figure = line_panels(panels, "Sánchez et al. 2016, Fig. 2: Adult (30,162 records), mean of 10 runs")
    ours = (
        "The paper gives no size for the difference of the last claim. A tenth was chosen after the result was seen (0.002, "
        "which is 19% of it), in the place of 'above 0', which could hardly fail."
    )
    return ExperimentOutcome(findings, figure, found.table(), (TAXONOMIES, ours))


EXPERIMENT = Experiment(
    name="sanchez-2016-fig2",
    title="Adult with categories: relative error and JSD of individual ranking over k",
    paper="Sánchez et al. 2016, §4.3, Fig. 2",
    data=("adult-train",),
    seconds=5,
    compute=_compute,
)
