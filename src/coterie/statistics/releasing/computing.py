"""The exact measurements of the records, in whole numbers. Nothing here is released."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.value_grid import Places, ValueGrid
from coterie.statistics.releasing.records import Kinds, People, Records, typed
from coterie.statistics.specification.asked_values import asked_texts, filters_of
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.specification import Specification

Exact = int | NDArray[np.int64]


def compute(design: Design, records: Records) -> dict[str, Exact]:
    """Every measurement by name, in its units; a quantile is returned as the counts of its candidates."""
    people, kinds = read_people(design.specification, records, design.measurements)
    sums = _Sums(people, kinds)
    return {m.name: _measured(m, kinds, sums) for m in design.measurements}


def read_people(
    specification: Specification, records: Records, measurements: Iterable[Measurement] = ()
) -> tuple[People, Kinds]:
    """The records as values, sorted into kinds; refused if they are not what the specification declares."""
    if records.identity in specification.samples:
        raise DataError(
            "The file that `shape` calls a public sample holds these very data.",
            "Give a sample that is public, for instance last year's release, or state `quantiles`.",
        )
    schema = specification.schema
    numeric = {column for statistic in specification.statistics for column in statistic.columns}
    filters = filters_of(specification)
    filters += [f for m in measurements for f in (m.where, m.where & (m.indicator or Filter()))]
    filters = list(dict.fromkeys([Filter(), *filters]))
    asked: dict[str, set[str]] = {}
    for chosen in filters:
        for column, condition in chosen.conditions:
            asked.setdefault(column, set()).update(asked_texts(condition, schema[column]))
    people = typed(records.read(schema, numeric | set(asked)), schema, numeric, asked)
    kinds = Kinds.of(people, filters, schema)
    _check(specification, kinds)
    return people, kinds


def _check(specification: Specification, kinds: Kinds) -> None:
    """Refuse data that do not keep what the specification declares."""
    present = np.array(kinds.sizes) > 0
    for group in specification.disjoint:
        if (np.sum([kinds.members[f] & present for f in group], axis=0) > 1).any():
            raise DataError(
                "Groups declared disjoint share records.",
                "Remove them from `disjoint`, or correct their filters: the budget would be understated.",
            )
    for total in specification.totals:
        base = Filter() if total.whole is None else specification[total.whole].where
        inside = np.any([kinds.members[specification[name].where] for name in total.parts], axis=0)
        if (kinds.members[base] & ~inside & present).any():
            raise DataError(
                "Groups declared complete miss some records.",
                "Add the missing values to `by` or `bins`, or drop `complete`.",
            )
    if specification.size is not None and kinds.count(Filter()) != specification.size:
        raise DataError(
            "The data have another number of records than the specification says.", "Correct `records`."
        )


@dataclass
class _Sums:
    """Sums of places and of their products in each kind, each taken once."""

    people: People
    kinds: Kinds
    places: dict[tuple[str, ValueGrid], Places] = field(default_factory=dict)
    found: dict[tuple[tuple[str, ValueGrid], ...], list[int]] = field(default_factory=dict)

    def place(self, column: str, grid: ValueGrid) -> Places:
        key = column, grid
        if key not in self.places:
            self.places[key] = grid.places(self.people.numbers(column))
        return self.places[key]

    def over(self, where: Filter, *columns: tuple[str, ValueGrid]) -> int:
        key = tuple(sorted(columns, key=lambda entry: entry[0]))
        if key not in self.found:
            listed = [self.place(*entry) for entry in key]
            self.found[key] = (
                self.kinds.sums(listed[0]) if len(listed) == 1 else self.kinds.product_sums(*listed)
            )
        return self.kinds.total(self.found[key], where)


def _measured(m: Measurement, kinds: Kinds, sums: _Sums) -> Exact:
    count = kinds.count(m.where)
    if m.kind is Kind.COUNT:
        return count
    if m.kind is Kind.QUANTILE:
        places = sums.place(m.terms[0][0], m.domains[0])
        return m.candidates.counts(places[kinds.mask(m.where)])
    if m.indicator is not None:
        return finish(m, count, kinds.count(m.where & m.indicator))
    entries = [(column, grid) for (column, _), grid in zip(m.terms, m.domains, strict=True)]
    first = sums.over(m.where, entries[0])
    if m.kind is Kind.SUM:
        # x − centre is 2·place + shift half steps.
        shifts = [
            2 * grid.low - grid.half_steps(centre)
            for (_, centre), grid in zip(m.terms, m.domains, strict=True)
        ]
        finer = int(math.prod((grid.step / 2 for grid in m.domains), start=Fraction(1)) / m.unit)
        if len(entries) == 1:
            return (2 * first + count * shifts[0]) * finer
        second = sums.over(m.where, entries[1])
        product = 4 * sums.over(m.where, *entries) + 2 * (shifts[1] * first + shifts[0] * second)
        return (product + count * shifts[0] * shifts[1]) * finer
    squares = sums.over(m.where, entries[0], entries[0]) if m.kind is not Kind.MEAN else 0
    return finish(m, count, first, squares)


def finish(m: Measurement, count: int, first: int, squares: int = 0) -> int:
    """A mean, share, variance or standard deviation, rounded down to its unit.

    `first` and `squares` are Σp and Σp² of the places p; for a share, `first` is how many count. Padded with the middle
    value up to `at_least` records: see coterie.statistics.prediction.measurement.
    """
    size = max(count, m.at_least)
    if m.indicator is not None:
        return math.floor(Fraction(2 * first + size - count, 2 * size) / m.unit)
    grid = m.domains[0]
    half, shift = grid.step / 2, -grid.steps  # x − middle is 2p + shift half steps
    total = 2 * first + count * shift
    if m.kind is Kind.MEAN:
        return math.floor(total * half / size / m.unit)
    squared = 4 * squares + 4 * shift * first + count * shift**2
    variance = (squared - Fraction(total**2, size)) * half**2 / (size - 1)
    if m.kind is Kind.VARIANCE:
        return math.floor(variance / m.unit)
    return math.isqrt(math.floor(variance / m.unit**2))
