"""The grids behind Sánchez et al. 2016, Fig. 1–4: relative error and JSD, on Census and on Adult with two categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coterie.chain.mechanism.categorical import MarginalityCentroid
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.evaluation.measure import Settings
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.papers.grids import PaperGrid, paper_grid
from coterie.papers.tables import adult, adult_sanchez_2016_schema, census, numeric_schema

EPSILONS = ("0.1", "1", "10")
CENSUS_KS = (2, *range(5, 101, 5))
ADULT_KS = (2, 5, 10, *range(20, 201, 20))
WIDTHS = (1, 8, 13)
RE, JSD = MEASURES = ("relative-error", "jensen-shannon")
WORDS = {RE: ("relative error (RE)", True), JSD: ("Jensen–Shannon divergence", False)}
INSENSITIVE = "insensitive MDAV"
NO_NAMES = "The paper does not name its 1 and 8 attributes; these are the first ones of the file."
TAXONOMIES = "Categories are ranked and compared in our own taxonomies; the paper takes WordNet 2.1, whose distances differ."


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


def census_grids(methods: Sequence[str], runs: int = 10) -> dict[int, PaperGrid]:
    """By number of attributes. Sánchez et al. 2016 does not say which 1 or 8 it takes: here the first ones of the file."""
    table = census()
    # Sánchez et al. 2016, §4.2: Census is continuous, so histograms have bins of 1/100 of the domain.
    settings = Settings(bins="domain")
    found = {}
    for width in WIDTHS:
        schema = numeric_schema(table, table.column_names[:width], alpha=1.5)
        found[width] = paper_grid(
            table, schema, methods, EPSILONS, CENSUS_KS, runs, MEASURES,
            settings=settings, find=with_insensitive_mdav,
        )  # fmt: skip
    return found


def adult_grid(methods: Sequence[str], runs: int = 10) -> PaperGrid:
    table = adult()
    schema = adult_sanchez_2016_schema(table)
    # Sánchez et al. 2016, §4.2: Adult is discrete, one bin per value.
    settings = Settings(bins="value")
    return paper_grid(
        table,
        schema,
        methods,
        EPSILONS,
        ADULT_KS,
        runs,
        MEASURES,
        settings=settings,
        find=with_insensitive_mdav,
    )
