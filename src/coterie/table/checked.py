"""table + Schema → columns that the chain can trust: in their domain, complete, no row half there; and the way back.

What a cell means is said in coterie.table.columns.cells. Messages name columns; never a value, and never a count of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.errors import DataError, SchemaError, nearest
from coterie.schema.arrays import Codes, Floats
from coterie.schema.attributes import (
    Attribute,
    AttributeType,
    Domain,
    Missing,
    Outside,
    Role,
    Schema,
)
from coterie.schema.domain import as_number
from coterie.schema.recoded import band_ranks, new_labels, recoded_numbers
from coterie.schema.recoding import Recoding
from coterie.schema.rules import EditRules
from coterie.table.columns import cells
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn, released_field
from coterie.table.columns.labels import category_column, central_code, declared_labels, released_labels
from coterie.table.columns.places import as_rows, without

_LARGE = 1_000_000  # rows from which threads pay
In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Checked:
    """The table after the schema's policies: columns to protect, columns to keep, and what was changed on the way."""

    columns: dict[str, Column]
    kept: dict[str, pa.ChunkedArray]
    records: int
    values_clipped: dict[str, int]
    uncut: dict[str, Column] = field(
        default_factory=dict
    )  # columns of which values were clipped, before that
    emptied: dict[str, int] = field(
        default_factory=dict
    )  # cells that were not applicable, and held something

    def as_they_were(self, name: str) -> Column:
        """The column as measures see it: not cut to its domain."""
        return self.uncut.get(name, self.columns[name])

    def without_records(self) -> Checked:
        """The columns as they are described, and nothing of what they hold."""
        nobody = np.empty(0, dtype=np.intp)
        columns: dict[str, Column] = {name: column.rows(nobody) for name, column in self.columns.items()}
        return replace(self, columns=columns, uncut={})


def check(table: pa.Table, schema: Schema) -> Checked:
    check_columns(table.column_names, schema)
    require_records(table.num_rows, schema)
    read = _each(lambda a: column_of(table.column(a.name), a, schema), schema.protected, table.num_rows)
    columns = {a.name: column for a, column in zip(schema.protected, read, strict=True)}
    return with_policies(table, columns, schema)


def require_records(records: int, schema: Schema) -> None:
    """Two rows at least. With a unit the number of rows is private, so no refusal may depend on it."""
    if records < 2 and schema.unit is None:
        raise DataError(
            "The table has fewer than two rows.", "A group to hide in needs at least two records."
        )


def with_policies(table: pa.Table, columns: dict[str, Column], schema: Schema) -> Checked:
    """Missing values and values outside the domain treated as the schema says, of a table or a piece of one."""
    kept = {a.name: table.column(a.name) for a in schema.with_role(Role.KEEP)}
    emptied: dict[str, int] = {}
    columns = with_gaps(columns, schema.edit_rules, emptied)
    clipped: dict[str, int] = {}
    uncut: dict[str, Column] = {}
    ranged = {n: c for n, c in columns.items() if isinstance(c, NumericColumn) and len(c.values)}
    for name, found in zip(ranged, _each(inside, ranged.values(), table.num_rows), strict=True):
        if found[1]:
            uncut[name] = columns[name]
        columns[name], clipped[name] = found
    return Checked(columns, kept, table.num_rows, clipped, uncut, emptied)


def with_gaps(columns: Mapping[str, Column], rules: EditRules, emptied: dict[str, int]) -> dict[str, Column]:
    """What is not applicable emptied; what is missing an outcome, a public value, or refused, as the schema says.

    `emptied` hears how many cells held something although they were not applicable.
    """
    absent = {name: _empty(column) for name, column in columns.items()}
    if rules.steps:
        ruled = rules.columns
        named = {name: column for name, column in columns.items() if name in ruled}
        for name, here in rules.emptied(as_rows(named)).items():
            emptied[name] = int((here & ~absent[name]).sum())
            columns = {**columns, name: without(columns[name], here)}
            absent[name] &= ~here
    return {name: _policy(column, absent[name]) for name, column in columns.items()}


def _empty(column: Column) -> NDArray[np.bool_]:
    if isinstance(column, CategoryColumn) and column.gap is not None:
        return np.asarray(column.codes == column.gap)
    return absent_in(column)


def _policy(column: Column, absent: NDArray[np.bool_]) -> Column:
    if column.attribute.missing is Missing.OWN_CATEGORY or not absent.any():
        return column
    if column.attribute.missing is not Missing.IMPUTE:
        raise cells.missing_values(column.attribute, absent)
    return filled(column, absent)


def _each(work: Callable[[In], Out], items: Iterable[In], rows: int) -> list[Out]:
    """In order, so that the first fault is told; large columns on all cores."""
    if rows < _LARGE:
        return [work(item) for item in items]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(work, items))


def column_of(
    column: pa.ChunkedArray, attribute: Attribute, schema: Schema, like: Column | None = None
) -> Column:
    """One column, still unchecked against its bounds; missing values marked. `like`: the same column's beginning."""
    if isinstance(like, CategoryColumn):  # its domain is not built again
        return replace(like, codes=like.semantics.read(column))
    if attribute.type.ranged:
        return numeric_column(column, attribute)
    if attribute.type is AttributeType.ORDINAL:
        return ordinal_column(column, attribute)
    return category_column(column, attribute, schema.folder)


def recoded_table(table: pa.Table, schema: Schema) -> pa.Table:
    """The table as `schema.of_release` describes it: recoded cells, not yet protected."""
    for attribute in schema.protected:
        if attribute.is_recoded:
            column = column_of(table.column(attribute.name), attribute, schema)
            if isinstance(column, CategoryColumn):
                values = column.restore(column.codes)
            else:
                values = column.restore(inside(column)[0].values if len(column.values) else column.values)
            table = table.set_column(table.column_names.index(attribute.name), attribute.name, values)
    return table


def absent_in(column: Column) -> NDArray[np.bool_]:
    """What is missing and has no label of its own for it."""
    return np.isnan(column.values) if isinstance(column, NumericColumn) else column.codes < 0


def located(error: DataError, place: str, before: int) -> DataError:
    """What is wrong in a piece of a table that has `before` rows above it; `place` is such as 'row {} of a partition'."""
    detail = re.sub(r"row (\d+)(?=\.$)", lambda row: place.format(f"{int(row[1]) + before:,}"), error.detail)
    return DataError(error.problem, error.advice, detail=detail)


def filled(column: Column, absent: NDArray[np.bool_]) -> Column:
    """`missing: impute`: one public value stands in."""
    if isinstance(column, CategoryColumn):
        return replace(column, codes=np.where(absent, np.int32(central_code(column)), column.codes))
    value = stand_in(column.attribute, column.domain, column.step)
    return replace(column, values=np.where(absent, value, column.values))


def check_columns(columns: Sequence[str], schema: Schema) -> None:
    """The table has the columns that the schema describes, and what is public about them is declared."""
    cells.check_names(columns)
    same_columns(columns, schema)
    schema.require_ready()


def same_columns(columns: Sequence[str], schema: Schema) -> None:
    """The table has the columns that the schema describes, and no others."""
    described = [attribute.name for attribute in schema.attributes]
    made = schema.raked.name if schema.raked is not None else None  # it need not be there
    for name in described:
        if name not in columns and name != made:
            raise SchemaError(
                f"The schema describes '{name}', which the table does not have.",
                nearest(name, [column for column in columns if column not in described] or columns),
            )
    for name in columns:
        if name not in described:
            raise SchemaError(
                f"The table has a column '{name}' that the schema does not describe.",
                "Add it to the schema; `role: identifier` drops it.",
            )


# Ranges: an Arrow column of numbers, dates or timestamps → doubles with NaN for missing → released values.

_STEP = {AttributeType.INTEGER: 1.0, AttributeType.DATE: 1.0, AttributeType.TIMESTAMP: 1.0}


def numeric_column(column: pa.ChunkedArray, attribute: Attribute) -> NumericColumn:
    """Numbers still unchecked against their bounds; missing ones are NaN."""
    field, recode = released_field(attribute), attribute.recode
    restore = partial(_restored, field.type)
    if recode is None:
        values = _numbers_in(column, attribute)
    else:
        before = attribute.in_file
        values = recoded_numbers(_numbers_in(column, before), before, recode)
        if recode.round_to is not None:  # noise leaves the multiples
            restore = partial(_restored_recoded, field.type, before, recode)
    domain = attribute.domain or attribute.bounds()  # which says what is missing
    return NumericColumn(attribute, values, domain, step_of(attribute), field, restore, gaps=field.nullable)


def _numbers_in(column: pa.ChunkedArray, before: Attribute) -> Floats:
    """The numbers as the file has them; missing ones are NaN. `before`: the attribute before recoding."""
    moment = before.type in (AttributeType.DATE, AttributeType.TIMESTAMP)
    return cells.moments(column, before) if moment else cells.numbers(column, before)


def step_of(attribute: Attribute) -> float | None:
    return 10.0**-attribute.decimals if attribute.decimals is not None else _STEP.get(attribute.type)


def stand_in(attribute: Attribute, domain: Domain, step: float | None) -> float:
    """The middle of the domain unless the schema names another value."""
    value = domain.middle if attribute.impute is None else _imputed(attribute, domain)
    first, last = domain.limits(step)
    return value if step is None else min(max(round(value / step) * step, first), last)


def inside(column: NumericColumn) -> tuple[NumericColumn, int]:
    """All values within the domain: refused or clipped, as the schema says; and how many were not."""
    domain, values, attribute = column.domain, column.values, column.attribute
    if values.min() >= domain.lower and values.max() <= domain.upper:
        return column, 0
    beyond = (values < domain.lower) | (values > domain.upper)
    if not beyond.any():  # gaps that are an outcome of their own
        return column, 0
    if attribute.outside is Outside.ERROR:
        raise DataError(
            f"Column '{attribute.name}' has values outside its declared domain.",
            "Widen the domain if public knowledge allows, or write `outside: clip` in the schema."
            + (" A weight is above 0, whatever the domain." if attribute.role is Role.WEIGHT else ""),
        )
    clipped = np.clip(values, domain.lower, domain.upper)
    return replace(column, values=clipped), int(beyond.sum())


def _imputed(attribute: Attribute, domain: Domain) -> float:
    labels = attribute.categories.labels if attribute.categories else None
    try:
        value = float(labels.index(str(attribute.impute))) if labels else as_number(attribute.impute)
    except ValueError:
        value = np.nan
    if not domain.lower <= value <= domain.upper:
        raise SchemaError(
            f"The value to impute for '{attribute.name}' is not in its domain.",
            "Write a value of the domain as `impute:`, or leave it out for the middle.",
        )
    return value


def _restored(kind: pa.DataType, values: Floats) -> pa.Array:
    """Released numbers as the type of the release; days and seconds since 1970 as dates and timestamps."""
    gaps = np.isnan(values)
    if gaps.any():
        return pc.if_else(pa.array(gaps), pa.scalar(None, kind), _restored(kind, np.where(gaps, 0.0, values)))
    if pa.types.is_floating(kind):
        return as_arrow(values)
    whole = as_arrow(values.astype(np.int64))
    if pa.types.is_date(kind):
        return whole.cast(pa.int32()).cast(kind)
    return whole.cast(pa.timestamp("s")).cast(kind) if pa.types.is_timestamp(kind) else whole


def _restored_recoded(kind: pa.DataType, before: Attribute, recode: Recoding, values: Floats) -> pa.Array:
    """The same, rounded once more as the schema recodes."""
    return _restored(kind, recoded_numbers(values, before, recode))


def as_arrow(values: NDArray[Any]) -> pa.Array:
    """The same memory as an Arrow array. (pa.array would do, but it imports pandas.)"""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


# Ordered labels: ranks 0 … C-1.


def ordinal_column(column: pa.ChunkedArray, attribute: Attribute) -> NumericColumn:
    """Ordered labels as ranks 0 … C-1: numbers in a public range, rounded to a rank again at the end."""
    labels = declared_labels(attribute).labels
    assert labels is not None  # the schema checks it
    if len(labels) < 2:
        raise SchemaError(
            f"Attribute '{attribute.name}' has fewer than two labels.", "List all labels of its domain."
        )
    codes = _ranks(column, labels, attribute)
    field, restore = released_labels(attribute, labels)
    domain = Domain(lower=0, upper=len(labels) - 1)
    return NumericColumn(
        attribute, codes, domain, 1.0, field, lambda ranks: restore(_rank_codes(ranks)), gaps=field.nullable
    )


def _ranks(column: pa.ChunkedArray, labels: Sequence[str], attribute: Attribute) -> Floats:
    before, recode = attribute.in_file, attribute.recode
    if recode is not None and recode.bands is not None:
        return band_ranks(_numbers_in(column, before), before, recode)
    declared = before.categories.labels if before.categories is not None else None
    codes = cells.codes(column, declared or labels, before)
    ranks = codes.astype(np.float64)
    if recode is not None and declared:
        new_of = new_labels(before, recode)
        moved = [labels.index(new_of[label]) for label in declared]
        ranks = np.array([*moved, np.nan])[codes]
    ranks[codes < 0] = np.nan
    return ranks


def _rank_codes(ranks: Floats) -> Codes:
    """The nearest rank; -1 for missing."""
    return np.where(np.isnan(ranks), -1, np.rint(np.nan_to_num(ranks))).astype(np.int32)
