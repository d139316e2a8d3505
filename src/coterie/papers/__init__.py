"""One reproduction per file: every figure and table of the papers. The registry finds every module with an EXPERIMENT."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from coterie.registry import Parts, discover, unknown

if TYPE_CHECKING:
    from coterie.papers.experiment import Experiment


@cache
def all_experiments() -> Parts[Experiment]:
    """Every experiment by name, in the order of papers and figures."""
    # It imports an array library, which `--help` does not wait for.
    from coterie.papers.experiment import Experiment

    return discover(__name__, __path__, "EXPERIMENT", Experiment, None, lambda e: e.name)


def get_experiment(name: str) -> Experiment:
    experiments = all_experiments()
    if isinstance(name, str) and name in experiments:
        return experiments[name]
    raise unknown("experiment", name, experiments, "`coterie reproduce list` names them all.")
