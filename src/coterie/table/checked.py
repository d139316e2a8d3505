"""table + Schema → columns that the chain can trust: in their domain, complete, no row half there.

What a cell means is said in coterie.table.columns.cells. Messages name columns; never a value, and never a count of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.errors import DataError, SchemaError, nearest
from coterie.schema.attributes import Attribute, AttributeType, Missing, Role, Schema
from coterie.table.columns import categories, cells, numbers
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn

_LARGE = 1_000_000  # rows from which threads pay
In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Checked:
    """The table after the schema's policies: columns to protect, columns to keep, and what was changed on the way."""

    columns: dict[str, Column]
    kept: dict[str, pa.ChunkedArray]
    records: int
    rows_dropped: int
    values_clipped: dict[str, int]
    uncut: dict[str, Column] = field(
        default_factory=dict
    )  # columns of which values were clipped, before that

    def as_they_were(self, name: str) -> Column:
        """The column as measures see it: not cut to its domain."""
        return self.uncut.get(name, self.columns[name])

    def without_records(self) -> Checked:
        """The columns as they are described, and nothing of what they hold."""
        nobody = np.empty(0, dtype=np.intp)
        columns: dict[str, Column] = {name: column.rows(nobody) for name, column in self.columns.items()}
        return replace(self, columns=columns, uncut={})


def check(table: pa.Table, schema: Schema) -> Checked:
    same_columns(table.column_names, schema)
    if table.num_rows < 2:
        raise DataError(
            "The table has fewer than two rows.", "A group to hide in needs at least two records."
        )
    if not schema.protected:
        raise SchemaError("No attribute is protected.", "Give at least one attribute `role: protect`.")
    read = _each(lambda a: column_of(table.column(a.name), a, schema), schema.protected, table.num_rows)
    columns = {a.name: column for a, column in zip(schema.protected, read, strict=True)}
    return with_policies(table, columns, schema)


def with_policies(table: pa.Table, columns: dict[str, Column], schema: Schema, *, least: int = 2) -> Checked:
    """Missing values and values outside the domain treated as the schema says; `least` is 0 for a piece of a table."""
    columns = dict(columns)
    kept = {a.name: table.column(a.name) for a in schema.with_role(Role.KEEP)}
    absences = _each(absent_in, columns.values(), table.num_rows)
    gaps = dict(zip(columns, absences, strict=True))
    gaps |= {name: cells.kept_gaps(column, schema[name]) for name, column in kept.items()}
    drop = np.zeros(table.num_rows, dtype=np.bool_)
    for name, absent in gaps.items():
        if not absent.any():
            continue
        attribute = schema[name]
        if attribute.missing is Missing.DROP_ROW:
            drop |= absent
        elif attribute.missing is Missing.IMPUTE and name in columns:
            columns[name] = filled(columns[name], absent)
        elif (
            attribute.role is Role.PROTECT and attribute.missing is not Missing.OWN_CATEGORY
        ):  # a kept column is released as it is, gaps included
            raise cells.missing_values(name, absent)
    if drop.any():
        keep = ~drop
        if keep.sum() < least:
            raise DataError(
                "Fewer than two rows are left once rows with missing values are dropped.",
                "Choose another policy than `missing: drop row`, or another table.",
            )
        columns = {name: column.rows(keep) for name, column in columns.items()}
        kept = {name: column.filter(pa.array(keep)) for name, column in kept.items()}
    clipped: dict[str, int] = {}
    uncut: dict[str, Column] = {}
    ranged = {n: c for n, c in columns.items() if isinstance(c, NumericColumn) and len(c.values)}
    for name, found in zip(ranged, _each(numbers.inside, ranged.values(), table.num_rows), strict=True):
        if found[1]:
            uncut[name] = columns[name]
        columns[name], clipped[name] = found
    dropped = int(drop.sum())
    return Checked(columns, kept, table.num_rows - dropped, dropped, clipped, uncut)


def _each(work: Callable[[In], Out], items: Iterable[In], rows: int) -> list[Out]:
    """In order, so that the first fault is told; large columns on all cores."""
    if rows < _LARGE:
        return [work(item) for item in items]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(work, items))


def column_of(column: pa.ChunkedArray, attribute: Attribute, schema: Schema) -> Column:
    """One column, still unchecked against its bounds; missing values marked."""
    if attribute.type.ranged:
        return numbers.numeric_column(column, attribute)
    if attribute.type is AttributeType.ORDINAL:
        return categories.ordinal_column(column, attribute)
    return categories.category_column(column, attribute, schema.folder)


def absent_in(column: Column) -> NDArray[np.bool_]:
    return np.isnan(column.values) if isinstance(column, NumericColumn) else column.codes < 0


def located(error: DataError, place: str, before: int) -> DataError:
    """What is wrong in a piece of a table that has `before` rows above it; `place` is such as 'row {} of a partition'."""
    detail = re.sub(r"row (\d+)(?=\.$)", lambda row: place.format(f"{int(row[1]) + before:,}"), error.detail)
    return DataError(error.problem, error.advice, detail=detail)


def filled(column: Column, absent: NDArray[np.bool_]) -> Column:
    if isinstance(column, CategoryColumn):
        return categories.filled(column, absent)
    return numbers.filled(column, absent)


def same_columns(columns: Sequence[str], schema: Schema) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise DataError(
            f"The table has more than one column named '{twice[0]}'.",
            "Rename or drop one; names must be unique.",
        )
    described = [attribute.name for attribute in schema.attributes]
    for name in described:
        if name not in columns:
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
