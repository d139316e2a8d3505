"""Noise on all cells of a large table at once, and one table of whole numbers whose totals are right.

Of all tables without negative counts whose totals are the noisy ones, the nearest is published (see `nearest_table`).
Cutting each cell at zero alone would make every total of small cells too large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
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
_MEAN = math.sqrt(2 / math.pi)  # E|noise| of a normal one of spread 1


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
    asked = [(s.table, s) for s in specification.statistics if s.table is not None]
    found: dict[str, ReleasedTable] = {}
    fitted: list[tuple[LargeTable, Filter, Whole]] = []
    for table, s in sorted(asked, key=lambda pair: pair[0].everyone):
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
            with_counts(table, s.where, group, cells)
            for group, cells in zip(design.groups, tables, strict=True)
            if group.counts
        ]
        margins += [with_table(table, other, cells) for other, where, cells in fitted if where == s.where]
        fixed = _distinct([margin for margin in margins if margin is not None])
        cells = nearest_counts(noisy.reshape(table.shape), table.totals, public, fixed).ravel()
        fitted.append((table, s.where, cells))
        drawn = _NoisyTable(table, noisy, source.family, source.law.noise_scale(float(budget)))
        made = drawn.released(measured, cells, public, errors[s.name])
        found[s.name] = _with_figures(made, figures) if s.where.everyone and figures else made
    return {s.name: found[s.name] for _, s in asked}


def _distinct(margins: Sequence[FixedMargin]) -> list[FixedMargin]:
    """Leave out the margins that follow from another."""
    kept: list[FixedMargin] = []
    for margin in sorted(margins, key=lambda one: (-len(one.classes), -one.sums.size)):
        if not any(other.tells(margin) for other in kept):
            kept.append(margin)
    return kept


@dataclass(frozen=True)
class _NoisyTable:
    """A table as it was drawn: the cells, and the law of their noise."""

    table: LargeTable
    noisy: Whole
    family: Family
    scale: float

    def released(self, measured: str, cells: Whole, public: int | None, error: float) -> ReleasedTable:
        """The figures of the fitted cells, with intervals and the errors to expect (`error`: of one cell)."""
        table, most = self.table, np.iinfo(np.int64).max if public is None else public
        values = table.with_totals(cells)
        added = table.with_totals(np.ones_like(cells))
        sizes, which = np.unique(added, return_inverse=True)
        reach = np.array([self._reach(size) for size in sizes.tolist()])[which]
        # What is measured below zero is taken as if measured at zero, so that no interval is empty.
        middle = np.clip(table.with_totals(self.noisy), 0, most)
        lower = np.minimum(np.clip(np.ceil(middle - reach), 0, most).astype(np.int64), values)
        upper = np.maximum(np.clip(np.floor(middle + reach), 0, most).astype(np.int64), values)
        errors = np.array([error if size == 1 else self._spread(size) * _MEAN for size in sizes.tolist()])[
            which
        ]
        if public is not None:
            known = added == table.everyone
            lower[known], upper[known], errors[known] = values[known], values[known], 0.0
        return ReleasedTable(table, measured, values, lower, upper, errors, self.noisy)

    def _spread(self, added: int) -> float:
        return standard_deviation(self.family, self.scale) * math.sqrt(added)

    def _reach(self, added: int) -> float:
        """What a sum of so many draws keeps to, at the level of an interval."""
        spread = self._spread(added)
        if self.family.gaussian:  # as good as one of the summed variance (Kairouz, Liu & Steinke 2021)
            return absolute_quantile(self.family, spread, LEVEL)
        if added == 1:
            return absolute_quantile(self.family, self.scale, LEVEL)
        if added >= _MANY or spread > _WIDE:
            return absolute_quantile(Family.GAUSSIAN, spread, LEVEL)
        return _laplace_reach(added, self.scale)


@lru_cache(maxsize=_MANY)
def _laplace_reach(added: int, scale: float) -> float:
    """A discrete Laplace draw is the difference of two geometric ones, so a sum of them that of two negative binomial."""
    ratio = math.exp(-1 / scale)
    draws = np.random.default_rng(added).negative_binomial(added, 1 - ratio, size=(2, _SAMPLE))
    return float(np.quantile(np.abs(draws[0] - draws[1]), LEVEL, method="inverted_cdf"))


def _with_figures(made: ReleasedTable, figures: Mapping[Filter, ReleasedValue]) -> ReleasedTable:
    """A figure that is published by itself, too, has the interval that it has there."""
    known = list(figures.values())
    lower, upper, errors = made.lower.copy(), made.upper.copy(), made.errors.copy()
    for place, which in of_counts(made.table, {chosen: i for i, chosen in enumerate(figures)}):
        if known[which].value == made.values[place]:
            lower[place] = math.ceil(known[which].lower - 1e-6)
            upper[place] = math.floor(known[which].upper + 1e-6)
            errors[place] = known[which].expected_error
    return replace(made, lower=lower, upper=upper, errors=errors)
