"""Sánchez et al. 2016, Fig. 4: Adult with categories, individual ranking against insensitive MDAV, with and without
noise."""

from __future__ import annotations

import numpy as np

from coterie.papers.drawing import Line, Panel, line_panels
from coterie.papers.experiment import Experiment, Finding, Outcome
from coterie.papers.sanchez_2016_adult import EPSILONS, KS, MEASURES, NOTE, grid
from coterie.papers.sanchez_2016_census import INSENSITIVE
from coterie.papers.sanchez_2016_fig1 import TITLES


def _compute() -> Outcome:
    found = grid(("ir", "dp-ir", "dp-mdav", INSENSITIVE))
    alone = {m: found.line(m, INSENSITIVE, "1") > found.line(m, "ir", "1") for m in MEASURES}
    better = np.array(
        [found.line(m, "dp-ir", e) < found.line(m, "dp-mdav", e) for m in MEASURES for e in EPSILONS]
    )
    beyond = np.array(KS) > 100
    beats = (found.line("jensen-shannon", "dp-ir", "10") < found.line("jensen-shannon", INSENSITIVE, "10"))[
        beyond
    ]
    findings = (
        Finding(
            "insensitive MDAV alone has more relative error than ranking alone",
            "always",
            f"{int(alone['relative-error'].sum())} of {len(KS)} points",
            "every point",
            bool(alone["relative-error"].all()),
        ),
        Finding(
            "insensitive MDAV alone has more JSD than ranking alone",
            "always",
            f"{int(alone['jensen-shannon'].sum())} of {len(KS)} points",
            "every point",
            bool(alone["jensen-shannon"].all()),
        ),
        Finding(
            "with noise, dp-ir is better than dp-mdav in both measures",
            "in most cases",
            f"{int(better.sum())} of {better.size} points",
            "at least 90 % of the points",
            bool(better.mean() >= 0.9),
        ),
        Finding(
            "ε = 10, k > 100: dp-ir beats even insensitive MDAV without noise (JSD)",
            "yes",
            f"{int(beats.sum())} of {len(beats)} points",
            "every point",
            bool(beats.all()),
        ),
    )
    panels = []
    for measure in MEASURES:
        panel = Panel("Adult, 4 attributes", TITLES[measure], KS, log=measure == "relative-error")
        for dash, epsilon in enumerate(EPSILONS):
            panel.lines.append(Line(f"dp-ir, ε = {epsilon}", found.line(measure, "dp-ir", epsilon), 0, dash))
            panel.lines.append(
                Line(f"dp-mdav, ε = {epsilon}", found.line(measure, "dp-mdav", epsilon), 1, dash)
            )
        panel.lines.append(Line("individual ranking, no noise", found.line(measure, "ir", "1"), 2))
        panel.lines.append(Line("insensitive MDAV, no noise", found.line(measure, INSENSITIVE, "1"), 3))
        panels.append(panel)
    figure = line_panels(panels, "Sánchez et al. 2016, Fig. 4: Adult (30,162 records), mean of 10 runs")
    return Outcome(findings, figure, found.table(), (NOTE,))


EXPERIMENT = Experiment(
    name="sanchez-2016-fig4",
    title="Adult with categories: individual ranking against multivariate groups",
    paper="Sánchez et al. 2016, §4.4, Fig. 4",
    data=("adult-train",),
    seconds=8,
    compute=_compute,
)
