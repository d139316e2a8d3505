"""The step of the chain between table and clusters: columns that ask for private bounds get them, and pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from coterie.bounds.grid import candidates
from coterie.bounds.quantile import private_domain, values_beyond
from coterie.columns.column import Column, NumericColumn
from coterie.noise.sampler import Sampler
from coterie.schema import Schema, Source
from coterie.table import Checked


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
            price, places = (
                shares[name] * column.domain.price,
                len(candidates(column.attribute, column.domain)),
            )
            values_beyond(column.attribute, column.domain, price, len(column.values), places)


def pay_for_bounds(
    checked: Checked, schema: Schema, shares: Mapping[str, Fraction], sampler: Sampler
) -> Paid:
    columns: dict[str, Column] = dict(checked.columns)
    clipped, spent = dict(checked.values_clipped), {}
    for name, column in checked.columns.items():
        if not isinstance(column, NumericColumn) or column.domain.source is not Source.DP:
            continue
        spent[name] = shares[name] * column.domain.price
        found = private_domain(column.values, column.attribute, column.domain, spent[name], sampler)
        values = np.clip(column.values, found.lower, found.upper)
        clipped[name] = clipped.get(name, 0) + int(np.count_nonzero(values != column.values))
        attribute = column.attribute.model_copy(update={"domain": found})
        columns[name] = replace(column, attribute=attribute, values=values, domain=found)
    if not spent:
        return Paid(checked, schema, {}, dict(shares))
    known = {name: columns[name].attribute for name in spent}
    found_schema = schema.model_copy(
        update={"attributes": tuple(known.get(a.name, a) for a in schema.attributes)}
    )
    left = {name: share - spent.get(name, Fraction(0)) for name, share in shares.items()}
    return Paid(replace(checked, columns=columns, values_clipped=clipped), found_schema, spent, left)
