"""Noise on all cells of a large table at once, and one table of whole numbers whose totals are right.

Of all tables without negative counts whose totals are the noisy ones, the nearest is published (see `nearest_table`).
Cutting each cell at zero alone would make every total of small cells too large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np

from coterie.chain.noise.discrete_gaussian import whole_gaussian, whole_laplace
from coterie.chain.noise.sampler import Sampler
from coterie.schema.arrays import Floats, Whole
from coterie.statistics.planning.plan import Plan
from coterie.statistics.releasing.consistency import LEVEL
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
from coterie.statistics.specification.specification import Neighbours, Notion, Specification

_MANY = 50  # draws whose sum is as good as normal
_SAMPLE = 400_000
_WIDE = 1e4  # a spread beyond which whole numbers are as good as all
_NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)


class ReleasedFigure(Protocol):
    """A count that is published by itself."""

    @property
    def value(self) -> float: ...
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def expected_error(self) -> float: ...


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


@dataclass(frozen=True, slots=True)
class CellNoise:
    """The noise of one cell: discrete Gaussian of this variance, or discrete Laplace of this scale."""

    gaussian: bool
    size: Fraction

    @classmethod
    def of(cls, budget: Fraction, specification: Specification) -> CellNoise:
        """One record, or one unit of c, moves one count by c, or two of them: by c or 2c in L1, and √2·c in L2."""
        apart = 1 if specification.neighbours is Neighbours.ADD_REMOVE else 2
        rows = specification.rows_per_unit
        if specification.budget.notion is Notion.PURE:
            return cls(False, apart * rows / budget)
        return cls(True, apart * rows**2 / (2 * budget))

    def draw(self, count: int, sampler: Sampler, stream: str) -> Whole:
        return (whole_gaussian if self.gaussian else whole_laplace)(count, self.size, sampler, stream)

    @property
    def deviation(self) -> float:
        if self.gaussian:
            return math.sqrt(self.size)
        ratio = math.exp(-1 / self.size)
        return math.sqrt(2 * ratio) / (1 - ratio)

    def reach(self, added: int) -> float:
        """What a sum of so many draws keeps to, at the level of an interval."""
        spread = self.deviation * math.sqrt(added)
        if spread > _WIDE or (added >= _MANY and not self.gaussian):
            return spread * _NORMAL
        return _gaussian_reach(spread) if self.gaussian else _laplace_reach(added, float(self.size))


def _gaussian_reach(spread: float) -> float:
    """The sum of discrete Gaussians is as good as one of the summed variance (Kairouz, Liu & Steinke 2021)."""
    weights = np.exp(-0.5 * (np.arange(math.ceil(8 * spread) + 2) / spread) ** 2)
    weights[1:] *= 2
    return float(np.searchsorted(np.cumsum(weights), LEVEL * weights.sum()))


@lru_cache(maxsize=_MANY)
def _laplace_reach(added: int, scale: float) -> float:
    """A discrete Laplace draw is the difference of two geometric ones, so a sum of them that of two negative binomial."""
    ratio = math.exp(-1 / scale)
    if added == 1:  # Pr(|N| > t) = 2·ratio^(t+1) / (1 + ratio)
        return max(math.ceil(math.log((1 - LEVEL) * (1 + ratio) / 2) / math.log(ratio)) - 1, 0)
    draws = np.random.default_rng(added).negative_binomial(added, 1 - ratio, size=(2, _SAMPLE))
    return float(np.quantile(np.abs(draws[0] - draws[1]), LEVEL, method="inverted_cdf"))


def released_tables(
    chosen: Plan,
    exact: Mapping[str, Any],
    sampler: Sampler,
    tables: Sequence[Floats],
    figures: Mapping[Filter, ReleasedFigure],
) -> dict[str, ReleasedTable]:
    """Each large table by the name of its statistic.

    `tables`: of each group of the design, the cells that are published (∞: not known); `figures`: counts that are published
    alone. Tables are fitted one after the other, smaller ones first, and have the totals of all that is fixed by then.
    """
    design, specification = chosen.design, chosen.specification
    budgets = dict(zip((m.name for m in design.measurements), chosen.budgets, strict=True))
    errors = {error.name: error.mean for error in chosen.errors}
    found: dict[str, ReleasedTable] = {}
    fitted: list[tuple[LargeTable, Filter, Whole]] = []
    for s in sorted((s for s in specification.statistics if s.table), key=lambda one: one.table.everyone):  # type: ignore[union-attr]
        table = s.table
        assert table is not None
        (measured,) = names_in(design.statistics[s.name])
        noise = CellNoise.of(budgets[measured], specification)
        stream = f"statistics {specification.digest} {measured}"
        counts: Whole = exact[measured]
        noisy = counts + noise.draw(len(counts), sampler, stream)
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
        drawn = _released(table, measured, cells, noisy, noise, public, errors[s.name])
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
    noise: CellNoise,
    public: int | None,
    error: float,
) -> ReleasedTable:
    most = np.iinfo(np.int64).max if public is None else public
    places = table.published
    values = table.with_totals(cells)[places]
    added = table.with_totals(np.ones_like(cells))[places]
    sizes, which = np.unique(added, return_inverse=True)
    reach = np.array([noise.reach(int(size)) for size in sizes])[which]
    spreads = np.array([noise.deviation * math.sqrt(2 / math.pi * size) for size in sizes])[which]
    # What is measured below zero is taken as if measured at zero, so that no interval is empty.
    middle = np.clip(table.with_totals(noisy)[places], 0, most)
    lower = np.clip(np.ceil(middle - reach), 0, most).astype(np.int64)
    upper = np.clip(np.floor(middle + reach), 0, most).astype(np.int64)
    everything = added == table.everyone if public is not None else np.zeros(len(added), dtype=np.bool_)
    lower, upper = np.minimum(lower, values), np.maximum(upper, values)
    lower, upper = np.where(everything, values, lower), np.where(everything, values, upper)
    expected = np.where(everything, 0.0, np.where(added > 1, spreads, error))
    return ReleasedTable(table, measured, values, lower, upper, expected, noisy)


def _with_figures(made: ReleasedTable, figures: Mapping[Filter, ReleasedFigure]) -> ReleasedTable:
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
