"""The grid behind Sánchez et al. 2016, Fig. 2 and 4: Adult, two numbers and two categories."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.evaluation.measure import Settings
from coterie.papers.grids import PaperGrid, paper_grid
from coterie.papers.sanchez_2016_census import with_insensitive_mdav
from coterie.papers.tables import adult, adult_sanchez_2016_schema

EPSILONS = ("0.1", "1", "10")
KS = (2, 5, 10, *range(20, 201, 20))
MEASURES = ("relative-error", "jensen-shannon")
NOTE = "Categories are ranked and compared in our own taxonomies; the paper takes WordNet 2.1, whose distances differ."


def grid(methods: Sequence[str], runs: int = 10) -> PaperGrid:
    table = adult()
    schema = adult_sanchez_2016_schema(table)
    # Sánchez et al. 2016, §4.2: Adult is discrete, one bin per value.
    settings = Settings(bins="value")
    return paper_grid(
        table, schema, methods, EPSILONS, KS, runs, MEASURES, settings=settings, find=with_insensitive_mdav
    )
