"""One reproduction a file: every figure and table of the papers. The registry finds every module with an EXPERIMENT."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from coterie.errors import ParameterError, nearest

if TYPE_CHECKING:
    from coterie.papers.experiment import Experiment


@cache
def all_experiments() -> dict[str, Experiment]:
    """Every experiment by name, in the order of papers and figures."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    experiments = [module.EXPERIMENT for module in modules if hasattr(module, "EXPERIMENT")]
    return {experiment.name: experiment for experiment in sorted(experiments, key=lambda e: e.name)}


def get_experiment(name: str) -> Experiment:
    experiments = all_experiments()
    if name not in experiments:
        raise ParameterError(
            f"There is no experiment '{name}'.",
            f"{nearest(name, experiments)} `coterie reproduce list` names them all.",
        )
    return experiments[name]
