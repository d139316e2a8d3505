"""Soria-Comas et al., Fig. 4: white Wine, mean SSE of four methods over k, three ε, two widths of the domains."""

from __future__ import annotations

import pyarrow as pa

from coterie.papers.experiment import Experiment, ExperimentOutcome
from coterie.papers.soria_comas_sse import READINGS, RUNS, outcome, run_grids
from coterie.papers.tables import white_wine

KS = (3, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 175, 200, 250, 300, 350, 400)
NOTE = "The 11 physicochemical attributes are masked; the quality score is the class of Fig. 6."


def table() -> pa.Table:
    return white_wine().drop_columns(["quality"])


def _compute(reading: str, runs: int) -> ExperimentOutcome:
    return outcome(
        run_grids(table, KS, reading, runs),
        "Soria-Comas et al., Fig. 4: white Wine (4,898 records, 11 attributes)",
        (NOTE,),
    )


EXPERIMENT = Experiment(
    name="soria-comas-fig4",
    title="white Wine: mean SSE of DP, DP-UM, iDP-LS and iDP-CBLS over k",
    paper="Soria-Comas et al. (iDP), §4.1, Fig. 4",
    data=("wine-white",),
    seconds=30,
    compute=_compute,
    readings=READINGS,
    headline="sigma",
    runs=RUNS,
)
