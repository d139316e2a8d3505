"""Del Vasto-Terrientes et al., Fig. 4: by how much iDP-IR (local sensitivity) is better than DP-IR (global), over ε × k."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from coterie.papers.expectations import closed, formula, ranking_alone
from coterie.papers.experiment import Experiment, ExperimentOutcome, Judgement
from coterie.papers.fragmented import (
    ADULT_KS,
    EPSILONS,
    READINGS,
    RESTS_ON,
    RUNS,
    WINE_KS,
    adult_grid,
    adult_schema,
    adult_table,
    field,
    fields,
    measure_of,
    of_adult,
    of_wine,
    wine_grid,
    wine_schema,
)
from coterie.papers.grids import heatmaps
from coterie.papers.judging import everywhere
from coterie.papers.tables import both_wines


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    measure = measure_of(reading)
    grids = {"Adult": adult_grid(reading, runs), "Wine Quality": wine_grid(runs)}
    known = {
        "Adult": of_adult(grids["Adult"], reading),
        "Wine Quality": of_wine(grids["Wine Quality"], reading),
    }
    found: list[Judgement] = []
    for name, grid in grids.items():
        exact = closed(known[name], grid, measure)
        gaps = fields(grid, "dp-ir", measure) - fields(grid, "idp-ls", measure)
        better = field(exact, "dp-ir", measure) - field(exact, "idp-ls", measure)
        claim = f"{name}: iDP-IR below DP-IR"
        found.append(everywhere(claim, "for all pairs (ε, k)", gaps, what="pairs", exact=better))
    for name, grid in grids.items():
        judged = formula(known[name], grid, measure, RESTS_ON)
        found.append(replace(judged, claim=f"{name}: {judged.claim}"))
    for name, alone in (
        ("Adult", ranking_alone(adult_table(), adult_schema(reading), ADULT_KS)),
        ("Wine Quality", ranking_alone(both_wines(), wine_schema(), WINE_KS)),
    ):
        found.append(replace(alone, claim=f"{name}: {alone.claim}"))
    panels = [
        (name, grid.ks, field(grid, "idp-ls", measure) - field(grid, "dp-ir", measure))
        for name, grid in grids.items()
    ]
    figure = heatmaps(
        panels,
        EPSILONS,
        "mean SSE of iDP-IR minus DP-IR",
        f"Del Vasto-Terrientes et al., Fig. 4, mean of {runs} runs (below 0: iDP-IR is better)",
        log=False,
    )
    data = pa.concat_tables([grid.table(data=name) for name, grid in grids.items()])
    return ExperimentOutcome(tuple(found), figure, data)


EXPERIMENT = Experiment(
    name="fragmented-fig4",
    title="local against global sensitivity over ε and k",
    paper="Del Vasto-Terrientes et al. (fragmented data), §5.1.1, Fig. 4",
    data=("adult-train", "adult-test", "wine-red", "wine-white"),
    seconds=70,
    compute=_compute,
    readings=READINGS,
    headline="sigma",
    runs=RUNS,
)
