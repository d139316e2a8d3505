"""Methods that model the whole table, over a table in memory: encode, add up, draw noise, draw rows."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.noise.sampler import Sampler
from coterie.chain.synthesis.accountant import Accountant, Currency
from coterie.chain.synthesis.decimals import decimal_counts
from coterie.chain.synthesis.enforcement import RowRules
from coterie.chain.synthesis.measurements import measurements_table
from coterie.chain.synthesis.synthesiser import CodedRecords, Measures
from coterie.chain.synthesis.whole_table import CodedColumn, Drawn, WholeTable, target_number
from coterie.errors import ParameterError
from coterie.methods.recipe import Method
from coterie.promise.terms import Budget
from coterie.schema.arrays import Whole
from coterie.schema.attributes import Schema
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn

_UNSURE = (
    10**6
)  # standard deviation of the noise on a private number of rows, at most: as many rows would be drawn
_BYTES_PER_VALUE = 8  # of rows in memory


@dataclass(frozen=True, slots=True)
class Synthesised:
    """Values of every released row, and the model they were drawn from."""

    values: dict[str, NDArray[Any]]
    drawn: Drawn
    columns: tuple[Column, ...]  # as they are described; nothing of what they hold
    records: int = 0  # as far as is known

    @property
    def measurements(self) -> pa.Table:
        return measurements_table(self.drawn, self.columns)


class Measured(Protocol):
    @property
    def measurements(self) -> pa.Table: ...


def measurements_of(found: Measured | None, method: str) -> pa.Table:
    if found is None:
        raise ParameterError(
            f"Method '{method}' does not draw rows from noisy counts.",
            "Choose dp-synthetic, or leave them out.",
        )
    return found.measurements


def accountant_of(budget: Budget, sampler: Sampler) -> Accountant:
    """One account for the whole release, less what the number of rows and private bounds took."""
    if budget.rho is not None:
        whole = budget.rho * (1 - budget.counting / budget.total)
        return Accountant(whole, Currency.RHO, sampler, budget.rows_per_unit)
    whole = sum(budget.shares.values(), Fraction(0))
    return Accountant(whole, Currency.EPSILON, sampler, budget.rows_per_unit)


def known_records(records: int, budget: Budget, sampler: Sampler, rows: int | None = None) -> int:
    """What one noisy count says of the number of records, where a unit's rows are private.

    Noise that would make a table of many millions of rows out of any table is refused before anything is read.
    """
    accountant = _counting_account(budget, sampler)
    if rows is None and accountant.deviation(1, 1.0, 1.0) > _UNSURE:
        raise ParameterError(
            f"Nobody could tell how many rows there are: the noise on their number would be above {_UNSURE:,}.",
            "Raise epsilon, or say how many rows to draw (--rows).",
        )
    # A unit's rows all count, or none of them: sensitivity 1 for each row.
    count = accountant.noisy_vector(np.array([records]), 1, 1, Fraction(1), "coterie: number of records")
    return max(1, round(float(count.values[0])))


def _counting_account(budget: Budget, sampler: Sampler) -> Accountant:
    if budget.rho is None:
        return Accountant(budget.counting, Currency.EPSILON, sampler, budget.rows_per_unit)
    whole = budget.rho * budget.counting / budget.total
    return Accountant(whole, Currency.RHO, sampler, budget.rows_per_unit)


def better_known_records(records: int, budget: Budget, drawn: Drawn, sampler: Sampler) -> int:
    """The number of records once everything is measured: each histogram and table has a noisy total of its own.

    A mean of what was released already, each weighted by its noise: it costs nothing.
    """
    if budget.counting == 0:
        return records
    first = _counting_account(budget, sampler).deviation(1, 1.0, 1.0)
    readings = [part.reading for released in drawn.model.distributions for part in released.parts]
    readings += drawn.model.readings.values()
    totals = np.array([records, *(reading.values.sum() for reading in readings)])
    noise = np.array([first, *(reading.deviation * math.sqrt(reading.values.size) for reading in readings)])
    weights = (noise.min() / noise) ** 2
    return max(1, round(float(weights @ totals / weights.sum())))


def check_room(method: Method, schema: Schema, rows: int) -> None:
    """Rows that do not fit in memory are refused before anything is read: what was read would be lost."""
    room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if rows * len(method.measured(schema)) * _BYTES_PER_VALUE > room:
        raise ParameterError(
            f"{rows:,} rows do not fit into the memory of this machine.",
            "Ask for fewer rows, or draw them piece by piece: --memory 2GB, from Parquet to Parquet.",
        )


def refuse_private_bounds(schema: Schema) -> None:
    if schema.searched:
        raise ParameterError(
            "Private bounds are found in memory only.", "Declare bounds, or leave out --memory and --engine."
        )


def shared_out(budget: Budget, parts: Sequence[Fraction]) -> Budget:
    """The budget as spent: for each attribute's distribution, and what was left for the dependence between them."""
    whole = sum(budget.shares.values(), Fraction(0))
    shares = {name: whole * part for name, part in zip(budget.shares, parts, strict=True)}
    return replace(budget, shares=shares, dependence=whole - sum(shares.values(), Fraction(0)))


class Records(Protocol):
    """Where the records are: what an engine adds up over them."""

    def decimals(self, asked: Sequence[int]) -> Sequence[Whole]:
        """`decimal_counts` of those attributes."""
        ...

    def measures(self, coded: Sequence[CodedColumn]) -> Measures: ...


def drawn_from(
    whole: WholeTable,
    records: Records,
    columns: Mapping[str, Column],
    count: int,
    budget: Budget,
    sampler: Sampler,
    rows: int | None,
    target: str | None,
    built: Callable[[float], None] = lambda share: None,
    rules: RowRules | None = None,
) -> tuple[Drawn, Budget]:
    """The model of `count` records, and how the budget was shared out. `columns` are read for what they declare."""
    if budget.counting == 0:  # a noisy number refuses nothing: what was drawn is to be paid for
        budget.check_records(count)
    names, described = list(columns), list(columns.values())
    accountant = accountant_of(budget, sampler)
    parts = whole.parts(count, list(budget.shares.values()), accountant, target=target is not None)
    coded = whole.columns(described, records.decimals, count, parts, accountant)
    wanted = count if rows is None else rows
    drawn = whole.draw(
        records.measures(coded), coded, count, wanted, parts, accountant, target_number(names, target), built
    )
    built(1.0)
    return replace(drawn, names=tuple(names), rules=rules), shared_out(budget, parts)


@dataclass(frozen=True, slots=True)
class _InMemory:
    columns: list[Column]
    progress: Callable[[str], None]

    def decimals(self, asked: Sequence[int]) -> list[Whole]:
        return [
            decimal_counts(column.values)
            for column in map(self.columns.__getitem__, asked)
            if isinstance(column, NumericColumn)
        ]

    def measures(self, coded: Sequence[CodedColumn]) -> CodedRecords:
        sizes = tuple(column.cells.size for column in coded)
        first = self.columns[0]
        records = len(first.codes if isinstance(first, CategoryColumn) else first.values)
        codes = np.empty((len(coded), records), dtype=np.uint16 if max(sizes) < 2**16 else np.int32)
        for line, one, column in zip(codes, coded, self.columns, strict=True):
            line[:] = one.encode(column)
            self.progress(column.attribute.name)
        return CodedRecords(codes, sizes)


def synthesised(
    whole: WholeTable,
    columns: Mapping[str, Column],
    records: int,
    budget: Budget,
    sampler: Sampler,
    rows: int | None = None,
    target: str | None = None,
    progress: Callable[[str], None] | None = None,
    rules: RowRules | None = None,
) -> tuple[Synthesised, Budget]:
    """Over columns in memory; and how the budget was shared out. `records` is the number that is known.

    `progress` hears of every column three times: read, modelled, drawn.
    """
    told = progress or (lambda name: None)
    names, done = list(columns), 0

    def built(share: float) -> None:
        nonlocal done
        for name in names[done : math.ceil(share * len(names))]:
            told(name)
            done += 1

    here = _InMemory(list(columns.values()), told)
    drawn, shared = drawn_from(whole, here, columns, records, budget, sampler, rows, target, built, rules)
    count = better_known_records(records, budget, drawn, sampler)
    values = drawn.rows(0, count if rows is None else rows, sampler)
    for name in names:
        told(name)
    return Synthesised(values, drawn, without_records(columns.values()), count), shared


def without_records(columns: Iterable[Column]) -> tuple[Column, ...]:
    nobody = np.empty(0, dtype=np.intp)
    return tuple(column.rows(nobody) for column in columns)
