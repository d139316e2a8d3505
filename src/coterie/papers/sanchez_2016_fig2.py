"""Sánchez et al. 2016, Fig. 2: Adult with categories, relative error and JSD of dp-ir over k, against both baselines."""

from __future__ import annotations

import numpy as np

from coterie.papers.drawing import Line, Panel, line_panels
from coterie.papers.experiment import Experiment, Finding, Outcome
from coterie.papers.sanchez_2016_adult import EPSILONS, KS, MEASURES, NOTE, grid
from coterie.papers.sanchez_2016_fig1 import TITLES


def _compute() -> Outcome:
    found = grid(("laplace", "ir", "dp-ir"))
    below = {
        measure: np.array(
            [found.line(measure, "dp-ir", e) < found.line(measure, "laplace", e) for e in EPSILONS]
        )
        for measure in MEASURES
    }
    alone = float(found.line("relative-error", "ir", "10")[-1])
    more = float(found.line("relative-error", "dp-ir", "10")[-1]) / alone - 1
    alike = [
        float(
            np.corrcoef(
                np.log(found.line("relative-error", "dp-ir", e)), found.line("jensen-shannon", "dp-ir", e)
            )[0, 1]
        )
        for e in EPSILONS
    ]
    findings = (
        Finding(
            "relative error below plain noise for every k > 1 and ε",
            "always",
            f"{int(below['relative-error'].sum())} of {below['relative-error'].size} points",
            "every point",
            bool(below["relative-error"].all()),
        ),
        Finding(
            "JSD below plain noise for every k > 1 and ε",
            "always",
            f"{int(below['jensen-shannon'].sum())} of {below['jensen-shannon'].size} points",
            "every point",
            bool(below["jensen-shannon"].all()),
        ),
        Finding(
            "JSD and relative error behave alike over k (correlation with log RE, least of three ε)",
            "similar",
            f"{min(alike):.2f}",
            "at least 0.8",
            min(alike) >= 0.8,
        ),
        Finding(
            "ε = 10, k = 200: relative error above that of ranking alone by",
            "a noticeable difference",
            f"{more:.0%} of it",
            "at least a tenth of it",
            more >= 0.1,
        ),
    )
    panels = []
    for measure in MEASURES:
        panel = Panel("Adult, 4 attributes", TITLES[measure], KS, log=measure == "relative-error")
        for dash, epsilon in enumerate(EPSILONS):
            panel.lines.append(Line(f"dp-ir, ε = {epsilon}", found.line(measure, "dp-ir", epsilon), 0, dash))
            flat = found.line(measure, "laplace", epsilon)
            panel.lines.append(Line(f"plain noise, ε = {epsilon}", flat, 1, dash, flat=True))
        panel.lines.append(Line("individual ranking, no noise", found.line(measure, "ir", "1"), 2))
        panels.append(panel)
    figure = line_panels(panels, "Sánchez et al. 2016, Fig. 2: Adult (30,162 records), mean of 10 runs")
    ours = (
        "The paper gives no size for the difference of the last claim. A tenth was chosen after the result was seen (0.002, "
        "which is 19% of it), in the place of 'above 0', which could hardly fail."
    )
    return Outcome(findings, figure, found.table(), (NOTE, ours))


EXPERIMENT = Experiment(
    name="sanchez-2016-fig2",
    title="Adult with categories: relative error and JSD of individual ranking over k",
    paper="Sánchez et al. 2016, §4.3, Fig. 2",
    data=("adult-train",),
    seconds=5,
    compute=_compute,
)
