"""The grids behind Sánchez et al. 2016, Fig. 1–4: relative error and JSD, on Census and on Adult with two categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from coterie.chain.mechanism.categorical import MarginalityCentroid
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.evaluation.clustered import ReleasedNumbers
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.papers.expectations import Expected, closed, expected, formula
from coterie.papers.experiment import Judgement, PaperReading, Support, as_printed
from coterie.papers.grids import Key, PaperGrid, paper_grid
from coterie.papers.tables import adult, adult_sanchez_2016_schema, census, numeric_schema
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Schema

EPSILONS = ("0.1", "1", "10")
CENSUS_KS = (2, *range(5, 101, 5))
ADULT_KS = (2, 5, 10, *range(20, 201, 20))
WIDTHS = (1, 8, 13)
CENSUS_RUNS, ADULT_RUNS = 100, 40
RE, JSD = MEASURES = ("relative-error", "jensen-shannon")
WORDS = {RE: ("relative error (RE)", True), JSD: ("Jensen–Shannon divergence", False)}
INSENSITIVE = "insensitive MDAV"
NO_NAMES = "The paper does not name its 1 and 8 attributes; these are the first ones of the file."
TAXONOMIES = "Categories are ranked and compared in our own taxonomies; the paper takes WordNet 2.1, whose distances differ."
RESTS_ON = "scale Δ(A)/(k × (ε/m)) (§4.2), outputs bounded to [0, 1.5 max] (§4.1); n/k × Δ(A)/(k × ε) for [17] (§4.4)"

PRINTED = as_printed("bins are “1/100th of the attribute domain” (§4.2)")
DATA_100 = PaperReading(
    "bins-100",
    "100 bins over the range of the data",
    "“1/100th of the attribute domain” (§4.2), if the domain is what occurs: the domain with its factor 1.5 is that of the "
    "noise (§4.1)",
    Support.SILENT,
)
DATA_200 = PaperReading(
    "bins-200",
    "200 bins over the range of the data",
    "none: bins “accounting 1/100th of the attribute domain” (§4.2)",
    Support.CONTRADICTED,
)
STRIPES = {DATA_100.name: 100, DATA_200.name: 200}


def _stripes(count: int, released: ReleasedNumbers, settings: Settings) -> Floats:
    """JSD with so many bins over the range of the data; values beyond are in the outermost bins."""
    numbers, values = released.clusters.numbers, released.values
    found = np.empty(values.shape[:2])
    for line, (original, rows) in enumerate(zip(numbers.records, values, strict=True)):
        low, high = float(original.min()), float(original.max())
        per_unit = count / (high - low)
        before = np.bincount(_bins(original, low, per_unit, count), minlength=count) / len(original)
        places = _bins(rows, low, per_unit, count) + count * np.arange(len(rows))[:, None]
        weights = np.broadcast_to(released.clusters.size, rows.shape).ravel()
        counted = np.bincount(places.ravel(), weights=weights, minlength=count * len(rows))
        after = counted.reshape(-1, count) / len(original)
        middle = (before + after) / 2
        found[line] = _surprise(middle) - (_surprise(before) + _surprise(after)) / 2
    return found


def _bins(values: Floats, low: float, per_unit: float, count: int) -> np.ndarray:
    return np.clip((values - low) * per_unit, 0, count - 1).astype(np.int64)


def _surprise(shares: Floats) -> Floats:
    return np.asarray(-np.sum(shares * np.log2(np.where(shares > 0, shares, 1.0)), axis=-1))


def _jsd(count: int) -> Measure:
    return Measure(
        name=f"{JSD}-{count}",
        title=f"Jensen–Shannon divergence, {count} bins over the range of the data",
        meaning="0: alike; 1: nothing in common",
        papers="Sánchez et al. 2016, §4.2, another reading",
        needs_linkage=False,
        attribute=ByAttribute(clusters=partial(_stripes, count)),
        rank=99,
    )


def jsd_of(reading: str) -> str:
    return f"{JSD}-{STRIPES[reading]}" if reading in STRIPES else JSD


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
        adds_noise=False,
    )


def census_schema(width: int) -> Schema:
    """Sánchez et al. 2016 does not say which 1 or 8 attributes it takes: here the first ones of the file."""
    table = census()
    return numeric_schema(table, table.column_names[:width], alpha=1.5)


@lru_cache(maxsize=1)
def census_grids(methods: tuple[str, ...], runs: int) -> dict[int, PaperGrid]:
    """By number of attributes."""
    # Sánchez et al. 2016, §4.2: Census is continuous, so histograms have bins of 1/100 of the domain.
    settings = Settings(bins="domain")
    measures: list[str | Measure] = [*MEASURES, *map(_jsd, STRIPES.values())]
    return {
        width: paper_grid(
            census(), census_schema(width), methods, EPSILONS, CENSUS_KS, runs, measures,
            settings=settings, find=with_insensitive_mdav,
        )
        for width in WIDTHS
    }  # fmt: skip


def census_expected(grids: dict[int, PaperGrid]) -> dict[int, dict[Key, Expected]]:
    return {
        width: expected(census(), census_schema(width), grid.values[RE], RE) for width, grid in grids.items()
    }


def census_exact(grids: dict[int, PaperGrid], known: dict[int, dict[Key, Expected]]) -> dict[int, PaperGrid]:
    return {width: closed(known[width], grid, RE) for width, grid in grids.items()}


def census_formulas(
    grids: dict[int, PaperGrid], known: dict[int, dict[Key, Expected]]
) -> tuple[Judgement, ...]:
    judged = {width: formula(known[width], grids[width], RE, RESTS_ON) for width in WIDTHS}
    return tuple(replace(j, claim=f"m = {width}: {j.claim}") for width, j in judged.items())


@lru_cache(maxsize=1)
def adult_grid(methods: Sequence[str], runs: int) -> PaperGrid:
    table = adult()
    # Sánchez et al. 2016, §4.2: Adult is discrete, one bin per value.
    settings = Settings(bins="value")
    return paper_grid(
        table, adult_sanchez_2016_schema(table), methods, EPSILONS, ADULT_KS, runs, MEASURES,
        settings=settings, find=with_insensitive_mdav,
    )  # fmt: skip


def adult_formula(grid: PaperGrid) -> Judgement:
    """Of the two numbers."""
    table = adult()
    judged = formula(
        expected(table, adult_sanchez_2016_schema(table), grid.values[RE], RE), grid, RE, RESTS_ON
    )
    return replace(judged, claim=judged.claim.replace("attribute", "number"))
