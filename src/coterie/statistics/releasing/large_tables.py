"""Noise on all cells of a large table at once, and one table of whole numbers whose totals are right.

Of all tables without negative counts whose totals are the noisy ones, the nearest is published (see `nearest_table`).
Cutting each cell at zero alone would make every total of small cells too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any

import numpy as np

from coterie.schema.arrays import Floats, Whole
from coterie.statistics.planning.plan import Plan
from coterie.statistics.prediction.measurement import Measurement
from coterie.statistics.prediction.noise_model import Family, absolute_quantile, standard_deviation
from coterie.statistics.releasing.consistency import LEVEL
from coterie.statistics.releasing.measuring import Noise
from coterie.statistics.releasing.nearest_table import (
    FixedMargin,
    nearest_counts,
    of_counts,
    with_counts,
    with_table,
)
from coterie.statistics.specification.equations import names_in
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.large_table import LargeTable

_MANY = 50  # draws whose sum is as good as normal
_SAMPLE = 400_000
_WIDE = 1e4  # a spread beyond which whole numbers are as good as all
_NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True)
class ReleasedValue:
    """A figure that is published by itself."""

    name: str
    is_equation: bool
    value: float
    lower: float
    upper: float
    expected_error: float
    statistic: str = ""  # of a private key: whose key it is …
    key: str = ""  # … and the key itself


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """Every figure of the table: cells, then totals; `noisy` are the cells as they were drawn."""

    table: LargeTable
    measured: str
    values: Whole
    lower: Whole
    upper: Whole
    errors: Floats  # that are expected
    noisy: Whole


def _reach(family: Family, scale: float, added: int) -> float:
    """What a sum of so many draws keeps to, at the level of an interval."""
    spread = standard_deviation(family, scale) * math.sqrt(added)
    if family.gaussian:  # as good as one of the summed variance (Kairouz, Liu & Steinke 2021)
        return absolute_quantile(family, spread, LEVEL)
    if added == 1:
        return absolute_quantile(family, scale, LEVEL)
    if added >= _MANY or spread > _WIDE:
        return spread * _NORMAL
    return _laplace_reach(added, scale)


@lru_cache(maxsize=_MANY)
def _laplace_reach(added: int, scale: float) -> float:
    """A discrete Laplace draw is the difference of two geometric ones, so a sum of them that of two negative binomial."""
    ratio = math.exp(-1 / scale)
    draws = np.random.default_rng(added).negative_binomial(added, 1 - ratio, size=(2, _SAMPLE))
    return float(np.quantile(np.abs(draws[0] - draws[1]), LEVEL, method="inverted_cdf"))


def released_tables(
    chosen: Plan,
    exact: Mapping[str, Any],
    noise: Noise,
    tables: Sequence[Floats],
    figures: Mapping[Filter, ReleasedValue],
) -> dict[str, ReleasedTable]:
    """Each large table by the name of its statistic.

    `tables`: of each group of the design, the cells that are published (∞: not known); `figures`: counts that are published
    alone. Tables are fitted one after the other, smaller ones first, and have the totals of all that is fixed by then.
    """
    design, specification = chosen.design, chosen.specification
    measurements = {m.name: place for place, m in enumerate(design.measurements)}
    errors = {error.name: error.mean for error in chosen.errors}
    found: dict[str, ReleasedTable] = {}
    fitted: list[tuple[LargeTable, Filter, Whole]] = []
    for s in sorted((s for s in specification.statistics if s.table), key=lambda one: one.table.everyone):  # type: ignore[union-attr]
        table = s.table
        assert table is not None
        (measured,) = names_in(design.statistics[s.name])
        place = measurements[measured]
        m, source, budget = design.measurements[place], design.metric.sources[place], chosen.budgets[place]
        assert isinstance(m, Measurement)
        stream = f"statistics {specification.digest} {measured}"
        noisy = noise.add_to_cells(
            exact[measured], m, source.family, budget, specification.neighbours, stream
        )
        public = specification.size if s.where.everyone else None
        margins = [
            with_counts(table, s.where, group, cells, specification.schema)
            for group, cells in zip(design.groups, tables, strict=True)
            if group.counts
        ]
        margins += [with_table(table, other, cells) for other, where, cells in fitted if where == s.where]
        fixed = _distinct([margin for margin in margins if margin is not None])
        cells = nearest_counts(noisy.reshape(table.shape), table.totals, public, fixed).ravel()
        fitted.append((table, s.where, cells))
        scale = source.law.noise_scale(float(budget))
        reach = partial(_reach, source.family, scale)
        spread = standard_deviation(source.family, scale)
        drawn = _released(table, measured, cells, noisy, reach, spread, public, errors[s.name])
        found[s.name] = _with_figures(drawn, figures if s.where.everyone else {})
    return {s.name: found[s.name] for s in specification.statistics if s.name in found}


def _distinct(margins: Sequence[FixedMargin]) -> list[FixedMargin]:
    """Without those of which another has every column."""
    kept: list[FixedMargin] = []
    for margin in sorted(margins, key=lambda one: -len(one.classes)):
        if not any(set(margin.classes) <= set(other.classes) for other in kept):
            kept.append(margin)
    return kept


def _released(
    table: LargeTable,
    measured: str,
    cells: Whole,
    noisy: Whole,
    reach_of: Callable[[int], float],
    spread: float,
    public: int | None,
    error: float,
) -> ReleasedTable:
    most = np.iinfo(np.int64).max if public is None else public
    places = table.published
    values = table.with_totals(cells)[places]
    added = table.with_totals(np.ones_like(cells))[places]
    sizes, which = np.unique(added, return_inverse=True)
    reach = np.array([reach_of(int(size)) for size in sizes])[which]
    spreads = spread * np.sqrt(2 / math.pi * sizes)[which]
    # What is measured below zero is taken as if measured at zero, so that no interval is empty.
    middle = np.clip(table.with_totals(noisy)[places], 0, most)
    lower = np.clip(np.ceil(middle - reach), 0, most).astype(np.int64)
    upper = np.clip(np.floor(middle + reach), 0, most).astype(np.int64)
    everything = added == table.everyone if public is not None else np.zeros(len(added), dtype=np.bool_)
    lower, upper = np.minimum(lower, values), np.maximum(upper, values)
    lower, upper = np.where(everything, values, lower), np.where(everything, values, upper)
    expected = np.where(everything, 0.0, np.where(added > 1, spreads, error))
    return ReleasedTable(table, measured, values, lower, upper, expected, noisy)


def _with_figures(made: ReleasedTable, figures: Mapping[Filter, ReleasedValue]) -> ReleasedTable:
    """A figure that is published by itself, too, has the interval that it has there."""
    if not figures:
        return made
    known = list(figures.values())
    lower, upper, errors = made.lower.copy(), made.upper.copy(), made.errors.copy()
    for place, which in of_counts(made.table, {chosen: i for i, chosen in enumerate(figures)}):
        if known[which].value == made.values[place]:
            lower[place] = math.ceil(known[which].lower - 1e-6)
            upper[place] = math.floor(known[which].upper + 1e-6)
            errors[place] = known[which].expected_error
    return replace(made, lower=lower, upper=upper, errors=errors)
