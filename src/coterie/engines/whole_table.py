"""Methods that model the whole table, over a table in memory: encode, add up, draw noise, draw rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.noise.sampler import Sampler
from coterie.chain.synthesis.accountant import Accountant, Currency
from coterie.chain.synthesis.measurements import measurements_table
from coterie.chain.synthesis.synthesiser import CodedRecords
from coterie.chain.synthesis.whole_table import Drawn, WholeTable, target_number
from coterie.errors import ParameterError
from coterie.methods.recipe import Method
from coterie.promise.terms import Budget
from coterie.schema.attributes import Role, Schema
from coterie.table.columns.column import Column


@dataclass(frozen=True, slots=True)
class Synthesised:
    """Values of every released row, and the model they were drawn from."""

    values: dict[str, NDArray[Any]]
    drawn: Drawn
    columns: tuple[Column, ...]  # as they are described; nothing of what they hold

    @property
    def measurements(self) -> pa.Table:
        return measurements_table(self.drawn, self.columns)


def check_options(method: Method, schema: Schema, rows: int | None, target: str | None) -> None:
    """What only a method that models the whole table can do, before anything is read."""
    if method.whole_table is None:
        if rows is not None or target is not None:
            raise ParameterError(
                f"Method '{method.name}' releases one row per record, and knows no target.",
                "Leave out rows and target, or choose a method that models the whole table, such as dp-synthetic.",
            )
        return
    if rows is not None:
        if isinstance(rows, bool) or not hasattr(rows, "__index__") or rows < 1:
            raise ParameterError("The number of rows is not a whole number from 1 up.", "Give for example 1000.")
        if schema.with_role(Role.KEEP):
            raise ParameterError(
                "Columns that are kept have one value per record, so the number of rows cannot be chosen.",
                "Leave out rows, or protect or drop the columns with `role: keep`.",
            )
    if target is not None and not isinstance(target, str):
        raise ParameterError("The target is not the name of an attribute.", "Give the name of one attribute.")
    target_number([attribute.name for attribute in schema.protected], target)


def accountant_of(budget: Budget, sampler: Sampler) -> tuple[Accountant, list[Fraction]]:
    """One account for the whole release, and the part of it that each attribute's distribution gets."""
    if budget.rho is not None:
        parts = [share / budget.total for share in budget.shares.values()]
        return Accountant(budget.rho, Currency.RHO, sampler), parts
    whole = sum(budget.shares.values(), budget.dependence)  # less what private bounds took
    return Accountant(whole, Currency.EPSILON, sampler), [share / whole for share in budget.shares.values()]


def synthesised(
    whole: WholeTable,
    columns: Mapping[str, Column],
    records: int,
    budget: Budget,
    sampler: Sampler,
    *,
    rows: int | None = None,
    target: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Synthesised:
    names = list(columns)
    coded = whole.columns(list(columns.values()))
    sizes = tuple(column.cells.size for column in coded)
    codes = np.empty((len(names), records), dtype=np.uint16 if max(sizes) < 2**16 else np.int32)
    for line, one, column in zip(codes, coded, columns.values(), strict=True):
        line[:] = one.encode(column)
    accountant, parts = accountant_of(budget, sampler)
    count = records if rows is None else rows
    drawn = whole.draw(
        CodedRecords(codes, sizes), coded, records, count, parts, accountant, target_number(names, target)
    )
    values = {}
    for number, name in enumerate(names):
        values[name] = drawn.values(number, 0, count, sampler)
        if progress:
            progress(name)
    nobody = np.empty(0, dtype=np.intp)
    return Synthesised(values, drawn, tuple(column.rows(nobody) for column in columns.values()))
