"""Soria-Comas et al., Fig. 3: Census, mean SSE of four methods over k, three ε, two widths of the domains."""

from __future__ import annotations

from coterie.papers.experiment import Experiment, ExperimentOutcome
from coterie.papers.soria_comas_sse import outcome, run_grids
from coterie.papers.tables import CENSUS_SORIA_COMAS, census

KS = (3, *range(5, 91, 5), 100)


def _compute() -> ExperimentOutcome:
    return outcome(
        run_grids(census(), CENSUS_SORIA_COMAS, KS),
        "Soria-Comas et al., Fig. 3: Census (1,080 records, 9 attributes)",
    )


EXPERIMENT = Experiment(
    name="soria-comas-fig3",
    title="Census: mean SSE of DP, DP-UM, iDP-LS and iDP-CBLS over k",
    paper="Soria-Comas et al. (iDP), §4.1, Fig. 3",
    data=("census",),
    seconds=1,
    compute=_compute,
)
