"""The grids behind Sánchez et al. 2016, Fig. 1 and 3: Census, the first 1, 8 and 13 attributes, RE and JSD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coterie.chain.mechanism.categorical import MarginalityCentroid
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.evaluation.measure import Settings
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.papers.grids import PaperGrid, paper_grid
from coterie.papers.tables import census, numeric_schema

EPSILONS = ("0.1", "1", "10")
KS = (2, *range(5, 101, 5))
WIDTHS = (1, 8, 13)
MEASURES = ("relative-error", "jensen-shannon")
INSENSITIVE = "insensitive MDAV"


def with_insensitive_mdav(name: str) -> Method:
    """Every method by name, and insensitive MDAV alone: the groups of dp-mdav without its noise (Sánchez et al. 2016,
    §4.4)."""
    if name != INSENSITIVE:
        return get_method(name)
    return replace(
        get_method("dp-mdav"),
        name=INSENSITIVE,
        numeric=LaplaceOnCentroids(MEAN, None),
        categorical=MarginalityCentroid(),
    )


def grids(methods: Sequence[str], runs: int = 10) -> dict[int, PaperGrid]:
    """By number of attributes. Sánchez et al. 2016 does not say which 1 or 8 it takes: here the first ones of the file."""
    table = census()
    found = {}
    for width in WIDTHS:
        schema = numeric_schema(table, table.column_names[:width], alpha=1.5)
        # Sánchez et al. 2016, §4.2: Census is continuous, so histograms have bins of 1/100 of the domain.
        found[width] = paper_grid(
            table,
            schema,
            methods,
            EPSILONS,
            KS,
            runs,
            MEASURES,
            settings=Settings(bins="domain"),
            find=with_insensitive_mdav,
        )
    return found
