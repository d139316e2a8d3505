"""Noise on all cells of a large table at once, and one table of whole numbers that adds up.

The cells are fitted to their noisy total (to the public one, where there is one): among all tables without negative counts
and with that total, the nearest. Cutting each cell at zero alone would make every total of small cells too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from coterie.chain.noise.sampler import Sampler
from coterie.chain.synthesis.accountant import Accountant, Currency
from coterie.schema.arrays import Floats, Whole
from coterie.statistics.planning.plan import Plan
from coterie.statistics.releasing.consistency import LEVEL
from coterie.statistics.specification.equations import names_in
from coterie.statistics.specification.large_table import LargeTable
from coterie.statistics.specification.specification import Neighbours, Notion

_MANY = 50  # draws whose sum is as good as normal
_SAMPLE = 400_000
_WIDE = 1e4  # a spread beyond which whole numbers are as good as all
_NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """Every figure of the table: cells, then totals; `noisy` are the cells as they were drawn."""

    table: LargeTable
    measured: str
    values: Whole
    lower: Whole
    upper: Whole
    errors: Floats  # that are expected
    noisy: Floats


def released_tables(chosen: Plan, exact: Mapping[str, Any], sampler: Sampler) -> dict[str, ReleasedTable]:
    """Each large table by the name of its statistic."""
    design, specification = chosen.design, chosen.specification
    budgets = dict(zip((m.name for m in design.measurements), chosen.budgets, strict=True))
    errors = {error.name: error.mean for error in chosen.errors}
    found = {}
    for s in specification.statistics:
        if s.table is not None:
            (measured,) = names_in(design.statistics[s.name])
            public = specification.size if s.table.complete and s.where.everyone else None
            stream = f"statistics {specification.digest} {measured}"
            noisy, spread, half = _noisy(exact[measured], budgets[measured], chosen, sampler, stream)
            cells = nearest_counts(noisy, public)
            places = s.table.published
            values, middle = s.table.with_totals(cells)[places], s.table.with_totals(noisy)[places]
            added = s.table.with_totals(np.ones_like(cells))[places]
            reach = half(added)
            most = np.iinfo(np.int64).max if public is None else public
            lower = np.clip(np.ceil(middle - reach), 0, most).astype(np.int64)
            upper = np.clip(np.floor(middle + reach), 0, most).astype(np.int64)
            found[s.name] = ReleasedTable(
                s.table,
                measured,
                values,
                np.minimum(lower, values),
                np.maximum(upper, values),
                np.where(added > 1, spread * np.sqrt(2 / math.pi * added), errors[s.name]),
                noisy,
            )
    return found


def _noisy(
    counts: Whole, budget: Fraction, chosen: Plan, sampler: Sampler, stream: str
) -> tuple[Floats, float, Callable[[Whole], Floats]]:
    """The cells with noise, its standard deviation, and how far sums of so many of them reach in an interval."""
    specification = chosen.specification
    gaussian = specification.budget.notion is not Notion.PURE
    apart = 1 if specification.neighbours is Neighbours.ADD_REMOVE else 2
    account = Accountant(
        budget, Currency.RHO if gaussian else Currency.EPSILON, sampler, specification.rows_per_unit
    )
    reading = account.noisy_vector(counts, apart, apart, Fraction(1), stream)

    def half(added: Whole) -> Floats:
        sizes, which = np.unique(added, return_inverse=True)
        of_sum = _whole_reach if gaussian else _laplace_reach
        return np.array([of_sum(int(size), reading.deviation) for size in sizes])[which]

    return reading.values, reading.deviation, half


def _whole_reach(added: int, deviation: float) -> float:
    """The smallest whole number that a sum of so many discrete Gaussian draws keeps to at the level of an interval.

    The sum of discrete Gaussians is as good as one of the summed variance (Kairouz, Liu & Steinke 2021).
    """
    spread = deviation * math.sqrt(added)
    if spread > _WIDE:
        return spread * _NORMAL
    weights = np.exp(-0.5 * (np.arange(math.ceil(8 * spread) + 2) / spread) ** 2)
    weights[1:] *= 2
    return float(np.searchsorted(np.cumsum(weights), LEVEL * weights.sum()))


def _laplace_reach(added: int, deviation: float) -> float:
    if added >= _MANY:
        return deviation * math.sqrt(added) * _NORMAL
    return deviation * _unit_reach(added)


@lru_cache(maxsize=_MANY)
def _unit_reach(added: int) -> float:
    """In standard deviations of one draw. A sum of Laplace draws is the difference of two gamma variables."""
    if added == 1:
        return -math.log(1 - LEVEL) / math.sqrt(2)
    draws = np.random.default_rng(added).gamma(added, size=(2, _SAMPLE))
    return float(np.quantile(np.abs(draws[0] - draws[1]), LEVEL)) / math.sqrt(2)


def nearest_counts(noisy: Floats, total: int | None) -> Whole:
    """The whole numbers ≥ 0 with this total (None: that of the noisy ones) nearest to them."""
    wanted = max(round(float(noisy.sum())), 0) if total is None else total
    falling = np.sort(noisy)[::-1]
    # x = max(noisy − cut, 0) with Σx = total: the largest j for which the j-th value is still above its cut.
    cuts = (np.cumsum(falling) - wanted) / np.arange(1, len(noisy) + 1)
    above = np.flatnonzero(falling > cuts)
    cut = cuts[above[-1]] if len(above) else falling[0]
    fitted = np.maximum(noisy - cut, 0.0)
    whole = np.floor(fitted)
    missing = wanted - int(whole.sum())
    if missing > 0:  # to those that lost most by rounding down
        lost = np.argsort(whole - fitted, kind="stable")
        whole[lost[:missing]] += 1
    return np.asarray(whole, dtype=np.int64)
