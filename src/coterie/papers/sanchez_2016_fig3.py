"""Sánchez et al. 2016, Fig. 3: Census, individual ranking against insensitive MDAV, with and without noise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.papers.experiment import Experiment, ExperimentOutcome, Judgement
from coterie.papers.grids import PaperGrid, line_panels, panels_of
from coterie.papers.judging import counted, everywhere
from coterie.papers.sanchez_2016_grids import (
    CENSUS_KS,
    CENSUS_RUNS,
    EPSILONS,
    INSENSITIVE,
    NO_NAMES,
    PRINTED,
    RE,
    WIDTHS,
    WORDS,
    census_exact,
    census_expected,
    census_formulas,
    census_grids,
)
from coterie.schema.arrays import Floats

KS = np.array(CENSUS_KS)
CROSSINGS = {8: 20, 13: 30}


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    found = census_grids(("ir", "dp-ir", "dp-mdav", INSENSITIVE), runs)
    known = census_expected(found)
    exact = census_exact(found, known)

    def better(grids: dict[int, PaperGrid]) -> Floats:
        return np.array(
            [
                grids[w].lines(RE, "dp-mdav", e) - grids[w].lines(RE, "dp-ir", e)
                for w in WIDTHS
                for e in EPSILONS
            ]
        )

    def crossing(grids: dict[int, PaperGrid], width: int) -> Floats:
        """Worse 15 below the published k, better 15 above it."""
        gap = grids[width].lines(RE, INSENSITIVE, "10") - grids[width].lines(RE, "dp-ir", "10")
        at = CROSSINGS[width]
        return np.array([-gap[at - 15 == KS][0], gap[at + 15 == KS][0]])

    alone = np.array([found[w].line(RE, INSENSITIVE, "1") > found[w].line(RE, "ir", "1") for w in (8, 13)])
    same = float(np.max(np.abs(found[1].line(RE, INSENSITIVE, "1") / found[1].line(RE, "ir", "1") - 1)))
    judgements = (
        counted(
            "m > 1: insensitive MDAV alone has more relative error than ranking alone", "always", alone, "every point"
        ),
        Judgement(
            "m = 1: the two groupings are the same (largest relative difference)", "0", f"{same:.1e}", "below 1e-6",
            same < 1e-6,
        ),
        everywhere(
            "with noise, dp-ir has less relative error than dp-mdav", "in most cases, all but large m, ε and k",
            better(found), 0.1, exact=better(exact),
        ),
        *(
            everywhere(
                f"m = {w}, ε = 10: dp-ir is worse than insensitive MDAV without noise at k = {at - 15}, better at k "
                f"= {at + 15}",
                f"better for k > {at}", crossing(found, w), exact=crossing(exact, w),
            )
            for w, at in CROSSINGS.items()
        ),
        *census_formulas(found, known),
    )  # fmt: skip
    noisy = {"dp-ir": "dp-ir", "dp-mdav": "dp-mdav"}
    noiseless = {"individual ranking, no noise": "ir", "insensitive MDAV, no noise": INSENSITIVE}
    panels = [
        panel
        for width in WIDTHS
        for panel in panels_of(f"Census, m = {width}", found[width], WORDS, noisy, noiseless)
    ]
    data = pa.concat_tables([found[width].table(attributes=width) for width in WIDTHS])
    notes = (
        NO_NAMES,
        "dp-mdav as published: every attribute gets the whole ε, so its rows cost mε (see coterie methods show dp-mdav).",
        "The two noise scales meet at k = n/m (83 for m = 13), as §4.4 says.",
    )
    figure = line_panels(panels, f"Sánchez et al. 2016, Fig. 3: Census, mean of {runs} runs")
    return ExperimentOutcome(judgements, figure, data, notes)


EXPERIMENT = Experiment(
    name="sanchez-2016-fig3",
    title="Census: individual ranking against multivariate groups",
    paper="Sánchez et al. 2016, §4.4, Fig. 3",
    data=("census",),
    seconds=15,
    compute=_compute,
    readings=(PRINTED,),
    runs=CENSUS_RUNS,
)
