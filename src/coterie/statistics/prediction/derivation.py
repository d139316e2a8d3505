"""From measurements to a statistic, directly or from noisy sums; and the units of errors.

The sums route measures n, Σ(y−c) and Σ(y−c)² of a group with the public middle c. Their sensitivities do
not grow when the group is small or its size secret, one n serves every statistic of the group, and the
rest is post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from coterie.errors import ParameterError, shortened
from coterie.schema import exact
from coterie.statistics.prediction import measurement as measured
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.specification.calculus import Range, Tape
from coterie.statistics.specification.equations import Expression, Op, apply, clamp, name, names_in, number
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.filters import EVERYONE
from coterie.statistics.specification.specification import (
    Equation,
    RelativeTo,
    Route,
    Specification,
    Statistic,
    StatisticKind,
    once,
)

Derivation = tuple[Expression, tuple[Measurement, ...]]  # a released statistic, and what is measured for it


def can_use_sums(statistic: Statistic) -> bool:
    return not statistic.derived and statistic.kind in (
        StatisticKind.SUM,
        StatisticKind.MEAN,
        StatisticKind.VARIANCE,
        StatisticKind.STD,
        StatisticKind.PROPORTION,
    )


@once
def derive(specification: Specification, statistic: Statistic, route: Route) -> Derivation:
    """The expression, which keeps the statistic in its domain, and its measurements."""
    domain = domain_of(specification, statistic)
    if statistic.kind is StatisticKind.COUNT:
        inner, needed = _size(specification, statistic)
    elif statistic.weighted_by and statistic.derived:
        inner, needed = _weighted(specification, statistic)
    elif statistic.kind.of_two_columns:
        inner, needed = _of_two_columns(specification, statistic)
    elif route is Route.SUMS and can_use_sums(statistic):
        inner, needed = _from_sums(specification, statistic)
    else:
        single = _direct(specification, statistic)
        inner, needed = name(single.name), (single,)
    rows = specification.rows_per_unit
    if rows > 1:
        needed = tuple(replace(m, bound=m.bound.for_unit(rows)) for m in needed)
    return clamp(inner, domain.lower, domain.upper), needed


def _direct(specification: Specification, statistic: Statistic) -> Measurement:
    where, m = statistic.where, _smallest(specification, statistic)
    if statistic.kind is StatisticKind.PROPORTION:
        assert statistic.that is not None
        return measured.share(where, statistic.that, m)
    if statistic.kind is StatisticKind.COUNT_DISTINCT:
        return measured.distinct(where, statistic.columns[0])
    if statistic.kind is StatisticKind.KEYS:
        return measured.keys(where, statistic.columns[0])
    if statistic.table is not None:
        return measured.cells_of(where, statistic.table, specification.budget.zcdp)
    domains = tuple(map(specification.grid_of, statistic.columns))
    column = statistic.columns[0]
    match statistic.kind:
        case StatisticKind.SUM:
            return measured.total(where, tuple((c, 0.0) for c in statistic.columns), domains)
        case StatisticKind.MEAN:
            return measured.mean(where, column, domains[0], m)
        case StatisticKind.TRIMMED_MEAN:
            return measured.trimmed(where, column, domains[0], m, statistic.trim)
        case StatisticKind.VARIANCE:
            return measured.variance(where, column, domains[0], max(m, 2))
        case StatisticKind.STD:
            return measured.std(where, column, domains[0], max(m, 2))
    return measured.quantile(where, column, domains[0], statistic.quantile, statistic.candidates)


def _from_sums(specification: Specification, statistic: Statistic) -> Derivation:
    raw, needed = _size(specification, statistic)
    size = _at_least(raw, statistic.at_least or 1)
    if statistic.kind is StatisticKind.PROPORTION:
        inside = measured.count(statistic.counted)
        return name(inside.name) / size, (inside, *needed)
    column = statistic.columns[0]
    if statistic.kind in (StatisticKind.SUM, StatisticKind.MEAN):
        known = apply(Op.MAX, raw, number(0.0))
        if len(statistic.columns) == 2:
            return _centred_product(specification, statistic, known, needed)
        grid = specification.grid_of(column)
        first = measured.total(statistic.where, ((column, grid.middle),), (grid,))
        if statistic.kind is StatisticKind.SUM:
            return name(first.name) + number(grid.middle) * known, (first, *needed)
        return number(grid.middle) + name(first.name) / size, (first, *needed)
    variance, measurements = _covariance(specification, statistic, (column, column))
    if statistic.kind is StatisticKind.STD:
        variance = apply(Op.SQRT, apply(Op.MAX, variance, number(0.0)))
    return variance, measurements


def _weighted(specification: Specification, statistic: Statistic) -> Derivation:
    """Σw(y−c)/Σw + c, or Σw over those that count / Σw. Σw is kept above what the least size can weigh."""
    weight = (statistic.weighted_by, 0.0)
    grid = specification.grid_of(statistic.weighted_by)
    every = measured.total(statistic.where, (weight,), (grid,))
    least = _smallest(specification, statistic) * specification.range_of(statistic.weighted_by).lower
    size = apply(Op.MAX, name(every.name), number(least))
    if statistic.kind is StatisticKind.PROPORTION:
        inside = measured.total(statistic.counted, (weight,), (grid,))
        return name(inside.name) / size, (inside, every)
    column = statistic.columns[0]
    domain = specification.grid_of(column)
    product = measured.total(statistic.where, (weight, (column, domain.middle)), (grid, domain))
    return number(domain.middle) + name(product.name) / size, (product, every)


def _covariance(specification: Specification, statistic: Statistic, columns: tuple[str, str]) -> Derivation:
    """(Σ(x−a)(y−b) − Σ(x−a)·Σ(y−b)/n) / (n − 1); the variance where both columns are the same."""
    raw, needed = _size(specification, statistic)
    m = statistic.at_least or 1
    x, y, both = _centred(specification, statistic, *columns)
    one, other = name(x.name), name(y.name)
    product = apply(Op.POWER, one, number(2.0)) if x == y else one * other
    spread = name(both.name) - product / _at_least(raw, m)
    less_one = _at_least(raw, max(m, 2)) - number(1.0)
    return spread / less_one, tuple(dict.fromkeys((x, y, both, *needed)))


def _centred(specification: Specification, statistic: Statistic, *columns: str) -> list[Measurement]:
    """Σ(x−a), Σ(y−b) and Σ(x−a)(y−b), columns in the order of their names: the same for all that is made of them."""
    grids = [specification.grid_of(column) for column in sorted(columns)]
    terms = tuple((column, grid.middle) for column, grid in zip(sorted(columns), grids, strict=True))
    x, y = (
        measured.total(statistic.where, (term,), (grid,)) for term, grid in zip(terms, grids, strict=True)
    )
    return [x, y, measured.total(statistic.where, terms, tuple(grids))]


def _of_two_columns(specification: Specification, statistic: Statistic) -> Derivation:
    """Made of the covariance, variances and means as they would be published, so that all of them agree.

    A variance that is divided by is kept at least `least_stds`², a public figure: noise may take it to zero.
    """
    kind, (y, x) = statistic.kind, statistic.columns
    least = dict(zip(statistic.columns, statistic.least_stds, strict=False))
    found: dict[Measurement, None] = {}

    def part(wanted: StatisticKind, *columns: str) -> Expression:
        one = replace(statistic, kind=wanted, columns=columns)
        made = (
            _from_sums(specification, one)
            if wanted is StatisticKind.MEAN
            else _covariance(specification, one, (columns[0], columns[-1]))
        )
        found.update(dict.fromkeys(made[1]))
        domain = domain_of(specification, one)
        lower = least[columns[0]] ** 2 if wanted is StatisticKind.VARIANCE else domain.lower
        return clamp(made[0], lower, domain.upper)

    expression = part(StatisticKind.COVARIANCE, y, x)
    if kind is StatisticKind.CORRELATION:
        one, other = (part(StatisticKind.VARIANCE, column) for column in (y, x))
        expression = expression / apply(Op.SQRT, one * other)
    elif kind is not StatisticKind.COVARIANCE:
        expression = expression / part(StatisticKind.VARIANCE, x)
    if kind is StatisticKind.INTERCEPT:
        steepest = domain_of(specification, replace(statistic, kind=StatisticKind.SLOPE))
        height = clamp(expression, steepest.lower, steepest.upper) * part(StatisticKind.MEAN, x)
        expression = part(StatisticKind.MEAN, y) - height
    return expression, tuple(found)


def _centred_product(
    specification: Specification,
    statistic: Statistic,
    size: Expression,
    needed: tuple[Measurement, ...],
) -> Derivation:
    """Σxy = Σ(x−a)(y−b) + bΣ(x−a) + aΣ(y−b) + abn: products of centred values are a quarter as large."""
    first, second, both = _centred(specification, statistic, *statistic.columns)
    (_, a), (_, b) = both.terms
    found = name(both.name) + number(b) * name(first.name) + number(a) * name(second.name)
    return found + number(a * b) * size, tuple(dict.fromkeys((both, first, second, *needed)))


def _size(specification: Specification, statistic: Statistic) -> Derivation:
    """The group's size: public when the group is everyone and n is public, else measured."""
    if statistic.where.everyone and specification.size is not None:
        return number(float(specification.size)), ()
    size = measured.count(statistic.where)
    return name(size.name), (size,)


def _at_least(size: Expression, lower: int) -> Expression:
    return size if size.op is Op.NUMBER else apply(Op.MAX, size, number(float(lower)))


def _smallest(specification: Specification, statistic: Statistic) -> int:
    """m: the public size that padded statistics rest on."""
    public = specification.size if statistic.where.everyone else None
    return public or statistic.at_least or 1


@once
def domain_of(specification: Specification, statistic: Statistic) -> Range:
    """Where the statistic can lie at all: released values are kept in it, which costs nothing."""
    most = math.inf if specification.size is None else float(specification.size)
    match statistic.kind:
        case StatisticKind.COUNT:
            return Range(float(statistic.at_least or 0), most)
        case StatisticKind.KEYS:
            return Range(0.0, math.inf)
        case StatisticKind.TABLE:
            return Range(0.0, most)
        case StatisticKind.COUNT_DISTINCT:
            return Range(0.0, min(most, specification.most_values(statistic)))
        case StatisticKind.PROPORTION:
            return Range(0.0, 1.0)
        case StatisticKind.SUM:
            first, *second = (specification.range_of(column) for column in statistic.columns)
            squared = len(set(statistic.columns)) < len(statistic.columns)
            term = first.power(2) if squared else first.times(second[0]) if second else first
            lower = most * term.lower if term.lower < 0 else 0.0
            upper = most * term.upper if term.upper > 0 else 0.0
            return Range(lower, upper)
    domain = specification.range_of(statistic.columns[0])
    if statistic.kind is StatisticKind.VARIANCE:
        return Range(0.0, _largest_std(specification, statistic, 0) ** 2)
    if statistic.kind is StatisticKind.STD:
        return Range(0.0, _largest_std(specification, statistic, 0))
    if not statistic.kind.of_two_columns:
        return domain
    if statistic.kind is StatisticKind.CORRELATION:
        return Range(-1.0, 1.0)
    # |cov| ≤ s_y·s_x; a slope is cov/s_x², so at most s_y/s_x.
    largest, other = (_largest_std(specification, statistic, place) for place in (0, 1))
    if statistic.kind is StatisticKind.COVARIANCE:
        return Range(-largest * other, largest * other)
    steepest = largest / statistic.least_stds[-1] if statistic.least_stds else math.inf
    if statistic.kind is StatisticKind.SLOPE:
        return Range(-steepest, steepest)
    heights = specification.range_of(statistic.columns[1]).times(Range(-steepest, steepest))
    return Range(domain.lower - heights.upper, domain.upper - heights.lower)


def _largest_std(specification: Specification, statistic: Statistic, place: int) -> float:
    """Half of the values at each end of the domain: W/2·√(m/(m−1))."""
    m = max(statistic.at_least or 2, 2)
    return specification.range_of(statistic.columns[place]).width / 2.0 * math.sqrt(m / (m - 1))


LEAST_SPREAD = 0.1  # of the expected std: smaller ones are not divided by


def with_least_spreads(specification: Specification) -> Specification:
    """Slopes, intercepts and correlations get the public figure that a std of theirs is kept above."""
    expectations = Expectations.of(specification)

    def least(statistic: Statistic) -> tuple[float, ...]:
        found = []
        for place, column in enumerate(statistic.columns):
            largest = _largest_std(specification, statistic, place)
            guessed = LEAST_SPREAD * expectations.std(statistic.where, column)
            stated = statistic.least_stds[0] if place == 1 and statistic.least_stds else None
            if stated is not None and stated >= largest:
                raise ParameterError(
                    f"Statistic '{statistic.name}': no std of '{column}' can reach least_std.",
                    f"Write one below {exact.number_text(largest)}.",
                )
            found.append(stated if stated is not None else min(max(guessed, 1e-6 * largest), 0.9 * largest))
        return tuple(found)

    return replace(
        specification,
        statistics=tuple(
            replace(s, least_stds=least(s)) if s.kind.divides_by_spread and len(s.columns) == 2 else s
            for s in specification.statistics
        ),
    )


def spread_warnings(specification: Specification) -> list[str]:
    """Where a slope is not the table's own: if its divisor is smaller than the public figure."""
    found: dict[tuple[str, float], list[str]] = {}
    for s in specification.statistics:
        if s.kind in (StatisticKind.SLOPE, StatisticKind.INTERCEPT):
            found.setdefault((s.columns[1], s.least_stds[1]), []).append(s.name)
    return [
        f"{shortened(names, 6)}: divided by the variance of '{column}'. A std below {exact.number(least)} is taken "
        f"as {exact.number(least)} (set `least_std` to choose another figure)."
        for (column, least), names in found.items()
    ]


WEIGHTY = 3.0  # above, noise has grown so much that synthetic rows serve weighted estimates better


def weight_warnings(specification: Specification) -> list[str]:
    """Say how much weighting makes noise grow: w_max over the mean weight, as far as that is public."""
    weight = specification.schema.weight
    if weight is None or not any(s.weighted_by for s in specification.statistics):
        return []
    mean = specification.mean_weight or Expectations.of(specification).stated_mean(EVERYONE, weight.name)
    if mean is None:
        return [
            f"Nothing says how large weights are on average. Relative noise of weighted figures grows by the upper bound of "
            f"'{weight.name}' over that mean: write a public guess as `mean_weight` to see it."
        ]
    growth = specification.range_of(weight.name).upper / mean
    if growth <= WEIGHTY:
        return []
    return [
        f"Weighting makes relative noise {exact.number(growth, 2)} times as large: the upper bound of '{weight.name}' over "
        f"its expected mean. Above {WEIGHTY:.0f}, prefer synthetic rows with weights (dp-synthetic), or lower the bound and "
        "write `outside: clip`."
    ]


# What an error is measured against, so that a count and an income can stand in one score (Nunes 2024, end of §5.3).

# An equation expected near zero is still measured against this part of the terms it is made of.
_SMALLEST_PART = 0.05


def unit_of_statistic(
    specification: Specification, statistic: Statistic, expected: float, domain: Range
) -> float:
    if specification.relative_to is RelativeTo.NOTHING:
        return 1.0
    if specification.relative_to is RelativeTo.SENSITIVITY:
        return _sensitivity(specification, statistic)
    if statistic.tolerance is not None:
        return statistic.tolerance
    if expected != 0:
        return abs(expected)
    return domain.width if math.isfinite(domain.width) and domain.width > 0 else 1.0


def unit_of_equation(
    specification: Specification, equation: Equation, expression: Expression, expected: Mapping[str, float]
) -> float:
    """The tolerance, or the expected size; or what the equation's own sensitivity would be to first order."""
    if specification.relative_to is RelativeTo.NOTHING:
        return 1.0
    if specification.relative_to is RelativeTo.SCALE and equation.tolerance is not None:
        return equation.tolerance
    tape = Tape.of(expression)
    names = names_in(expression)
    results = tape.run({name: np.asarray(expected[name]) for name in names})
    slopes = tape.gradient(results, np.asarray(1.0), names)
    if specification.relative_to is RelativeTo.SENSITIVITY:
        parts = [abs(float(s)) * _sensitivity(specification, specification[n]) for n, s in slopes.items()]
        size = sum(parts)
    else:
        terms = sum(abs(float(slope) * expected[name]) for name, slope in slopes.items())
        size = max(abs(float(results[-1])), _SMALLEST_PART * terms)
    return size if size > 0 and math.isfinite(size) else 1.0


def _sensitivity(specification: Specification, statistic: Statistic) -> float:
    if statistic.derived:  # of its own it has none
        return domain_of(specification, statistic).width
    _, measured = derive(specification, statistic, Route.DIRECT)
    if not measured or measured[0].kind is Kind.QUANTILE:
        return 1.0
    return measured[0].bound.nominal(specification.neighbours, measured[0].where.everyone)
