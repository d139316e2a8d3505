"""Bounds for attributes that have no public ones: a differentially private quantile, paid from ε."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.sampler import Sampler
from coterie.errors import ParameterError
from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import Attribute, AttributeType, Domain, Schema, Source
from coterie.schema.domain import Search
from coterie.table.checked import Checked
from coterie.table.columns.column import Column, NumericColumn, present

# The public candidates for a bound: a geometric grid for numbers, an even one for dates. No data are read.

_OCTAVES = 20  # the finest candidate lies at 2^-20 of the range
_EVEN = 128


def candidates(attribute: Attribute, widest: Domain) -> Floats:
    """Rising candidates inside the widest range, its ends included.

    Numbers: 0 (or the lower end, where 0 is outside) and from there both ways by factors of √2, because people know
    the magnitude of a quantity less well than anything else about it.
    """
    whole = attribute.type in (AttributeType.INTEGER, AttributeType.DATE, AttributeType.TIMESTAMP)
    if attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        grid = np.linspace(widest.lower, widest.upper, _EVEN + 1)
    else:
        start = 0.0 if widest.lower <= 0 <= widest.upper else widest.lower
        reach = max(widest.upper - start, start - widest.lower)
        distances = reach * 2.0 ** (-np.arange(2 * _OCTAVES + 1) / 2)
        grid = start + np.concatenate([-distances, [0.0], distances])
    if whole:
        grid = np.rint(grid)
    inside = grid[(grid >= widest.lower) & (grid <= widest.upper)]
    return np.unique(np.concatenate([[widest.lower], inside, [widest.upper]]))


# A bound beyond which about t values lie, by the exponential mechanism over the intervals between public candidates.
#
# For the upper bound let N_i be the number of values above candidate i. The interval from candidate i to i+1 holds the t-th
# largest value if N_{i+1} ≤ t ≤ N_i, and its score is how far it is from that: max(0, t - N_i, N_{i+1} - t). Replacing
# one record changes every N by at most 1, so every score by at most 1, and the choice is ε-DP. The chosen
# interval's outer end
# is the bound. A unit of c rows changes scores by c: its choice with ε is that with ε/c here, and t is c times as large.
# Intervals outside all data have score t; with t = 2(ln(candidates) + 4)/ε they are chosen with
# probability below e^-4. The lower bound is the mirror image.

_SENSITIVITY = 1.0


def private_domain(
    values: Floats,
    attribute: Attribute,
    widest: Domain,
    epsilon: Fraction,
    sampler: Sampler,
    records: int | None = None,
) -> Domain:
    """The range that all but about t values on each searched side lie in; each side costs its part of ε.

    `records`: a noisy answer to their number, where it is private. Where bounds cannot be found for it, the public range
    is kept: a refusal would be an answer that nobody paid for.
    """
    grid, each = candidates(attribute, widest), _a_side(widest, epsilon)
    if records is None:
        beyond = values_beyond(attribute, widest, epsilon, len(values), len(grid))
    elif (beyond := _beyond(widest, epsilon, len(grid))) > records // 4:
        return widest
    ordered = np.sort(present(values))  # gaps lie beyond no bound
    lower, upper = widest.lower, widest.upper
    if widest.search is not Search.LOWER:
        above = len(ordered) - np.searchsorted(ordered, grid, side="right")
        # The first interval holds its lower end too: records may share the public bound.
        above[0] = len(ordered)
        scores = interval_scores(above[:-1], above[1:], beyond)
        upper = float(grid[1:][_chosen(scores, each, sampler, f"{attribute.name}: upper bound")])
    if widest.search is not Search.UPPER:
        below = np.searchsorted(ordered, grid, side="left")
        below[-1] = len(ordered)
        scores = interval_scores(below[1:], below[:-1], beyond)
        lower = float(grid[:-1][_chosen(scores, each, sampler, f"{attribute.name}: lower bound")])
    if lower >= upper:  # the two draws crossed: only the public range is left to say
        lower, upper = widest.lower, widest.upper
    return widest.model_copy(update={"lower": lower, "upper": upper})


def _a_side(widest: Domain, epsilon: Fraction) -> Fraction:
    return epsilon if widest.search in (Search.LOWER, Search.UPPER) else epsilon / 2


def values_beyond(attribute: Attribute, widest: Domain, epsilon: Fraction, records: int, places: int) -> int:
    """t, from public numbers alone: `places` is how many candidates there are. Refused where it is a quarter of all."""
    beyond = _beyond(widest, epsilon, places)
    if beyond > records // 4:
        cut = "a quarter or more of all" if beyond < records else "all"
        raise ParameterError(
            f"ε is too small to find bounds for '{attribute.name}': {cut} values would be cut.",
            "Write public bounds in the schema, give the attribute a larger weight or share, or search one side only.",
        )
    return beyond


def _beyond(widest: Domain, epsilon: Fraction, places: int) -> int:
    return math.ceil(2 * (math.log(places) + 4) / float(_a_side(widest, epsilon)))


def interval_scores(inner: Whole, outer: Whole, beyond: int) -> Floats:
    """`inner` and `outer`: how many values lie beyond the two ends of each interval."""
    return np.maximum(0, np.maximum(beyond - inner, outer - beyond)).astype(np.float64)


def _chosen(scores: Floats, epsilon: Fraction, sampler: Sampler, stream: str) -> int:
    return int(exponential_mechanism(scores[None, :], epsilon, _SENSITIVITY, sampler, stream)[0])


# The step of the chain between table and clusters: columns that ask for private bounds get them, and pay.


@dataclass(frozen=True, slots=True)
class Paid:
    """The table with the bounds found, the schema that says so, and for each attribute what they cost and what is left."""

    checked: Checked
    schema: Schema
    spent: dict[str, Fraction]
    left: dict[str, Fraction]


def check_price(checked: Checked, shares: Mapping[str, Fraction]) -> None:
    """Refuse, before anything is drawn, shares of ε that are too small for the bounds they have to buy."""
    for name, column in checked.columns.items():
        if isinstance(column, NumericColumn) and column.domain.source is Source.DP:
            attribute, domain = column.attribute, column.domain
            places = len(candidates(attribute, domain))
            values_beyond(attribute, domain, shares[name] * domain.price, len(column.values), places)


def pay_for_bounds(
    checked: Checked,
    schema: Schema,
    shares: Mapping[str, Fraction],
    sampler: Sampler,
    records: int | None = None,
    rows_per_unit: int = 1,
) -> Paid:
    columns: dict[str, Column] = dict(checked.columns)
    clipped, uncut = dict(checked.values_clipped), dict(checked.uncut)
    spent: dict[str, Fraction] = {}
    for name, column in checked.columns.items():
        if not isinstance(column, NumericColumn) or column.domain.source is not Source.DP:
            continue
        if name not in shares:  # derived: its domain follows from others
            continue
        spent[name] = shares[name] * column.domain.price
        each = spent[name] / rows_per_unit
        found = private_domain(column.values, column.attribute, column.domain, each, sampler, records)
        values = np.clip(column.values, found.lower, found.upper)
        clipped[name] = clipped.get(name, 0) + int(
            np.count_nonzero(present(values) != present(column.values))
        )
        uncut.setdefault(name, column)
        attribute = column.attribute.model_copy(update={"domain": found})
        columns[name] = replace(column, attribute=attribute, values=values, domain=found)
    known = {name: columns[name].attribute for name in spent}
    found_schema = schema.model_copy(
        update={"attributes": tuple(known.get(a.name, a) for a in schema.attributes)}
    )
    left = {name: share - spent.get(name, Fraction(0)) for name, share in shares.items()}
    cut = replace(checked, columns=columns, values_clipped=clipped, uncut=uncut)
    return Paid(cut, found_schema, spent, left)
