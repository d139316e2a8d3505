"""Soria-Comas et al., Fig. 3: Census, mean SSE of four methods over k, three ε, two widths of the domains."""

from __future__ import annotations

import pyarrow as pa

from coterie.papers.experiment import Experiment, ExperimentOutcome
from coterie.papers.soria_comas_sse import READINGS, RUNS, outcome, run_grids
from coterie.papers.tables import CENSUS_SORIA_COMAS, census

KS = (3, *range(5, 91, 5), 100)


def table() -> pa.Table:
    return census(CENSUS_SORIA_COMAS)


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    return outcome(
        run_grids(table, KS, reading, runs),
        "Soria-Comas et al., Fig. 3: Census (1,080 records, 9 attributes)",
    )


EXPERIMENT = Experiment(
    name="soria-comas-fig3",
    title="Census: mean SSE of DP, DP-UM, iDP-LS and iDP-CBLS over k",
    paper="Soria-Comas et al. (iDP), §4.1, Fig. 3",
    data=("census",),
    seconds=10,
    compute=_compute,
    readings=READINGS,
    headline="sigma",
    runs=RUNS,
)
