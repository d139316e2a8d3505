"""Del Vasto-Terrientes et al., Fig. 6: both Wines over three owners of rows and three of attributes, against the same
in one place."""

from __future__ import annotations

import numpy as np

from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding
from coterie.papers.fragmented import EPSILONS, RUNS, WINE_KS, fragmented
from coterie.papers.grids import heatmaps
from coterie.papers.tables import both_wines, numeric_schema

ROWS = (500, 1_000, 4_997)


def holders(names: list[str]) -> dict[str, list[str]]:
    """Del Vasto-Terrientes et al., §5.1.3: three, four and four attributes, in the order of the table."""
    return {"owner-1": names[:3], "owner-2": names[3:7], "owner-3": names[7:11]}


def _compute() -> ExperimentOutcome:
    table = both_wines()
    schema = numeric_schema(table, table.column_names, alpha=2.0)
    ks = WINE_KS[1:]
    found = fragmented(table, lambda _: schema, lambda _: schema, ROWS, holders(table.column_names), ks)
    findings = []
    for name, claim in (("horizontal", "rows"), ("vertical", "attributes")):
        relative = found.difference(name) / found.central
        near = float(np.mean(relative <= 0.1))
        findings.append(
            PaperFinding(
                f"{claim}: fields within 10 % of the error in one place (or better)",
                "most",
                f"{near:.0%}",
                "at least half",
                near >= 0.5,
            )
        )
    strong = (found.horizontal[:, 0] / found.central[:, 0]).max()
    findings.append(
        PaperFinding(
            "ε = 0.1: error over that in one place, rows",
            "below 300 more, of thousands",
            f"{strong:.2f} times",
            "at most 1.3 times",
            bool(strong <= 1.3),
        )
    )
    panels = [
        (word, ks, found.difference(name))
        for word, name in (("rows", "horizontal"), ("attributes", "vertical"))
    ]
    figure = heatmaps(
        panels,
        EPSILONS,
        "mean SSE above one place",
        f"Del Vasto-Terrientes et al., Fig. 6: Wine, mean of {RUNS} runs",
        log=False,
    )
    return ExperimentOutcome(tuple(findings), figure, found.table())


EXPERIMENT = Experiment(
    name="fragmented-fig6",
    title="both Wines: fragmented against one place, difference of mean SSE over ε and k",
    paper="Del Vasto-Terrientes et al. (fragmented data), §5.1.4, Fig. 6",
    data=("wine-red", "wine-white"),
    seconds=30,
    compute=_compute,
)
