"""One reproduction per file: every figure and table of the papers. The registry finds every module with an EXPERIMENT."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from coterie.errors import ParameterError, nearest
from coterie.registry import discover

if TYPE_CHECKING:
    from coterie.papers.experiment import Experiment


@cache
def all_experiments() -> dict[str, Experiment]:
    """Every experiment by name, in the order of papers and figures."""
    # It imports an array library, which `--help` does not wait for.
    from coterie.papers.experiment import Experiment

    experiments = discover(__name__, __path__, "EXPERIMENT", Experiment)
    return {experiment.name: experiment for experiment in sorted(experiments, key=lambda e: e.name)}


def get_experiment(name: str) -> Experiment:
    experiments = all_experiments()
    if name not in experiments:
        raise ParameterError(
            f"There is no experiment '{name}'.",
            f"{nearest(name, experiments)} `coterie reproduce list` names them all.",
        )
    return experiments[name]
