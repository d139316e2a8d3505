"""What a release is still worth: one measure per file.

The registry finds every module here that defines MEASURE, and the entry points `coterie.measures` of other packages.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from coterie.registry import Parts, discover, unknown

if TYPE_CHECKING:
    from coterie.evaluation.measure import Measure


@cache
def all_measures() -> Parts[Measure]:
    """Every measure by name, in the order in which a reader should meet them."""
    from coterie.evaluation.measure import Measure  # with an array library, which `--help` does not wait for

    return discover(__name__, __path__, "MEASURE", Measure, "coterie.measures", lambda m: (m.rank, m.name))


def get_measure(name: str) -> Measure:
    measures = all_measures()
    if isinstance(name, str) and name in measures:
        return measures[name]
    raise unknown("measure", name, measures, "`coterie evaluate --help` lists them.")
