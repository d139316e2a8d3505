"""The public rule: how the budget is shared, how many tables are read and how large, from n, budget, c and cells alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from coterie.chain.synthesis.accountant import Accountant, Currency
from coterie.chain.synthesis.cells import Cells
from coterie.chain.synthesis.scores import correlation_noise

_HOPELESS = 0.01  # n over the noise on one count: below, nothing is read but distributions


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    attributes: tuple[Fraction, ...]  # of the whole, for the distribution of each attribute
    levels: tuple[tuple[Fraction, ...], ...]  # of that, for each histogram but the last
    matrix: Fraction
    table: Fraction  # for each table
    choice: Fraction  # for each choice of a table; 0 where all are read
    rounds: tuple[int, ...]  # tables in each round
    bins: int  # per attribute of a table, at most
    sweeps: int


@dataclass(frozen=True, slots=True)
class Rule:
    """The constants behind a plan. They were chosen on some tables and kept for others (docs/explanation/…)."""

    marginals: tuple[tuple[float, float], ...] = (
        (10, 0.9),
        (30, 0.7),
        (100, 0.55),
        (300, 0.45),
        (1000, 0.4),
    )  # ρ
    pure_marginals: tuple[tuple[float, float], ...] = (
        (30, 0.92),
        (70, 0.85),
        (150, 0.75),
        (300, 0.65),
        (1000, 0.5),
    )
    matrix: float = 0.2  # of what the distributions leave, at least …
    most_matrix: float = 0.6  # … and at most, so that
    sharp: float = 0.15  # noise on a correlation is no larger
    choosing: float = 0.15  # of what tables get
    density: float = 0.30  # noise of all cells of a table together, in records per record
    least_bins: int = 3
    most_bins: int = 20
    readable: float = 10.0  # n over the noise on one cell of a table, at least: else fewer tables, or none
    pure_readable: float = 20.0
    clear: float = 0.6  # noise on a correlation, at most: no matrix where it is more
    pure_clear: float = 0.3
    least_tables: float = 0.8  # per attribute but one
    most_tables: float = 2.5
    levels: tuple[tuple[float, tuple[float, ...]], ...] = (
        (300.0, (0.1, 0.12, 0.14, 0.16)),
        (100.0, (0.15, 0.15, 0.15, 0.15)),
        (0.0, (0.3, 0.12, 0.12)),
    )  # n over the noise on a count, at least: parts of an attribute's budget for the histograms before the last
    rounds: int = 4
    sweeps: int = 12


def plan_for(
    n: int,
    cells: Sequence[Cells],
    parts: Sequence[Fraction],
    accountant: Accountant,
    *,
    target: bool = False,
    rule: Rule,
) -> MeasurementPlan:
    """`parts` go to the attributes' distributions; what they leave of the whole goes to correlations and tables."""
    levels = tuple(_levels(n / accountant.deviation(part), rule) for part in parts)
    attributes = len(cells)
    left = accountant.left - sum(parts, Fraction(0))
    if left == 0:
        return MeasurementPlan(tuple(parts), levels, Fraction(0), Fraction(0), Fraction(0), (), 2, 0)
    scored = sum(cell.ordered or cell.size - cell.missing == 2 for cell in cells)
    matrix = left * _matrix_share(n, scored, left, accountant, rule)
    rest = left - matrix
    tables = _tables(n, attributes, rest, accountant, rule, target)
    chosen = tables - (attributes - 1 if target else 0)
    if tables == attributes * (attributes - 1) // 2:
        chosen = 0  # all of them: there is nothing to choose
    choosing = rest * _part(rule.choosing) if chosen else Fraction(0)
    table = (rest - choosing) / tables
    noise = accountant.deviation(table)
    bins = int(math.sqrt(rule.density * n / noise)) if noise < n else 0
    return MeasurementPlan(
        attributes=tuple(parts),
        levels=levels,
        matrix=matrix,
        table=table,
        choice=choosing / chosen if chosen else Fraction(0),
        rounds=_rounds(tables, attributes, target, rule.rounds),
        bins=max(rule.least_bins, min(rule.most_bins, bins)),
        sweeps=rule.sweeps,
    )


def distribution_share(
    n: int, attributes: int, accountant: Accountant, *, target: bool = False, rule: Rule
) -> Fraction:
    """The part of the whole that distributions get: all of it where no table could be read for the rest.

    Between the points of the rule, along the logarithm of n over the noise that an even split would put on one count.
    """
    signal = n / accountant.deviation(Fraction(1, attributes))
    if attributes == 1 or signal < _HOPELESS:
        return Fraction(1)
    points = rule.marginals if accountant.currency is Currency.RHO else rule.pure_marginals
    places = [math.log(place) for place, _ in points]
    share = _part(float(np.interp(math.log(signal), places, [share for _, share in points])))
    return share if target or _readable(n, 1 - share, accountant, rule) else Fraction(1)


def _matrix_share(n: int, scored: int, left: Fraction, accountant: Accountant, rule: Rule) -> Fraction:
    """The share of the remaining budget that correlations need, within limits; 0 where noise would drown them."""
    if scored < 2:
        return Fraction(0)
    ratio = correlation_noise(n, scored, left, accountant) / rule.sharp
    concentrated = accountant.currency is Currency.RHO
    share = _part(min(max(ratio**2 if concentrated else ratio, rule.matrix), rule.most_matrix))
    noise = correlation_noise(n, scored, left * share, accountant)
    return share if noise <= (rule.clear if concentrated else rule.pure_clear) else Fraction(0)


def _readable(n: int, rest: Fraction, accountant: Accountant, rule: Rule) -> int:
    """How many tables `rest` can pay for before noise drowns them."""
    signal = n / accountant.deviation(rest * (1 - _part(rule.choosing)))
    if accountant.currency is Currency.RHO:
        return int((signal / rule.readable) ** 2)
    return int(signal / rule.pure_readable)


def _tables(n: int, m: int, rest: Fraction, accountant: Accountant, rule: Rule, target: bool) -> int:
    """How many tables to read: more where the noise is small compared with n."""
    pairs = m * (m - 1) // 2
    if target:
        return min(pairs, m - 1 + max(0, round(0.2 * (m - 1))))
    noise = accountant.deviation(rest / (m - 1))
    signal = n / noise if noise > 0 else math.inf
    per = rule.least_tables + (rule.most_tables - rule.least_tables) * min(
        1.0, max(0.0, math.log10(max(signal, 1.0) / 10) / 2)
    )
    return max(1, min(pairs, round(per * (m - 1)), _readable(n, rest, accountant, rule)))


def _rounds(tables: int, m: int, target: bool, rounds: int) -> tuple[int, ...]:
    if target:
        left = tables - (m - 1)
        return (m - 1, left) if left else (m - 1,)
    base, more = divmod(tables, rounds)
    return tuple(size for size in (base + (i < more) for i in range(rounds)) if size)


def _levels(signal: float, rule: Rule) -> tuple[Fraction, ...]:
    """The less noise, the smaller the parts that suffice to see where much is."""
    shares = next(shares for least, shares in rule.levels if signal >= least)
    return tuple(_part(share) for share in shares)


def _part(value: float) -> Fraction:
    return Fraction(value).limit_denominator(1000)
