"""What a release is still worth: one measure per file.

The registry finds every module here that defines MEASURE, and the entry points `coterie.measures`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from coterie.errors import ParameterError, nearest

if TYPE_CHECKING:
    from coterie.evaluation.measure import Measure


@cache
def all_measures() -> dict[str, Measure]:
    """Every measure by name, in the order in which a reader should meet them."""
    # Files with an underscore hold compiled loops, and loading the compiler takes longer than most of the work.
    names = [found.name for found in iter_modules(__path__) if not found.name.startswith("_")]
    modules = [import_module(f"{__name__}.{name}") for name in names]
    measures = [module.MEASURE for module in modules if hasattr(module, "MEASURE")]
    measures += [point.load() for point in entry_points(group="coterie.measures")]
    return {measure.name: measure for measure in sorted(measures, key=lambda m: (m.rank, m.name))}


def get_measure(name: str) -> Measure:
    measures = all_measures()
    if name not in measures:
        raise ParameterError(
            f"There is no measure '{name}'.",
            f"{nearest(name, measures)} `coterie evaluate --help` lists them.",
        )
    return measures[name]
