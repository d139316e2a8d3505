"""table + Schema → columns that the chain can trust: every value finite, inside its domain, no row half there.

Messages name columns, rows and counts; never a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.errors import DataError, SchemaError, nearest
from coterie.schema import Attribute, AttributeType, Missing, Outside, Role, Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Checked:
    """The table after the schema's policies: numbers to protect, columns to keep, and what was changed on the way."""

    columns: dict[str, Floats]
    kept: dict[str, pa.ChunkedArray]
    records: int
    rows_dropped: int
    values_clipped: dict[str, int]


def check(table: pa.Table, schema: Schema) -> Checked:
    _same_columns(table.column_names, schema)
    if table.num_rows < 2:
        found = "is empty" if table.num_rows == 0 else "has one row"
        raise DataError(f"The table {found}.", "A group to hide in needs at least two records.")
    if not schema.protected:
        raise SchemaError("No attribute is protected.", "Give at least one attribute `role: protect`.")
    numbers = {attribute.name: _numbers(table.column(attribute.name), attribute) for attribute in schema.protected}
    rows = _complete_rows(table, numbers, schema)
    if rows is not None:
        numbers = {name: values[rows] for name, values in numbers.items()}
        if int(rows.sum()) < 2:
            raise DataError(
                "Fewer than two rows are left once rows with missing values are dropped.",
                "Choose another policy than `missing: drop row`, or another table.",
            )
    clipped: dict[str, int] = {}
    for attribute in schema.protected:
        numbers[attribute.name], clipped[attribute.name] = _inside(numbers[attribute.name], attribute)
    kept = {attribute.name: table.column(attribute.name) for attribute in schema.with_role(Role.KEEP)}
    if rows is not None:
        kept = {name: column.filter(pa.array(rows)) for name, column in kept.items()}
    records = len(next(iter(numbers.values())))
    return Checked(numbers, kept, records, table.num_rows - records, clipped)


def _same_columns(columns: Sequence[str], schema: Schema) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise DataError(
            f"The table has more than one column named '{twice[0]}'.", "Rename or drop one; names must be unique."
        )
    described = [attribute.name for attribute in schema.attributes]
    for name in described:
        if name not in columns:
            raise SchemaError(
                f"The schema describes '{name}', which the table does not have.",
                nearest(name, [column for column in columns if column not in described]),
            )
    for name in columns:
        if name not in described:
            raise SchemaError(
                f"The table has a column '{name}' that the schema does not describe.",
                "Add it to the schema; `role: identifier` drops it.",
            )


def _numbers(column: pa.ChunkedArray, attribute: Attribute) -> Floats:
    """The column as doubles; a missing value becomes NaN."""
    name, kind = attribute.name, column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        column = _text_as_numbers(column, name)
    elif pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(
            f"Column '{name}' holds {kind}, not numbers.",
            f"Convert it to numbers, or give '{name}' another role in the schema.",
        )
    if pa.types.is_integer(kind) and _beyond_doubles(column):
        raise DataError(
            f"Column '{name}' holds integers beyond ±2^53, which doubles cannot carry exactly.",
            "Rescale the attribute, or give it the role `identifier`.",
        )
    # Arrow hands nulls over as NaN, and a single chunk without nulls without a copy.
    values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        raise DataError(
            f"Column '{name}' holds {int(infinite.sum())} infinite value(s), the first in row {_first(infinite)}.",
            "Correct the table: no domain contains infinity.",
        )
    if attribute.type is AttributeType.INTEGER:
        with np.errstate(invalid="ignore"):
            broken = (values != np.rint(values)) & ~np.isnan(values)
        if broken.any():
            raise DataError(
                f"Column '{name}' is declared integer, but {int(broken.sum())} value(s) have a fraction, "
                f"the first in row {_first(broken)}.",
                "Declare it `type: continuous`, or correct the table.",
            )
    return values


def _beyond_doubles(column: pa.ChunkedArray) -> bool:
    extremes = pc.min_max(column).as_py()
    return any(value is not None and abs(value) > 2**53 for value in extremes.values())


def _text_as_numbers(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(column)
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    for row, text in enumerate(trimmed, start=1):
        try:
            float(text.as_py() or 0)
        except ValueError:
            break
    raise DataError(
        f"Column '{name}' holds text that is not a number, first in row {row}.",
        f"Correct that row, mark missing values as empty, or give '{name}' another role in the schema.",
    ) from None


def _complete_rows(table: pa.Table, numbers: dict[str, Floats], schema: Schema) -> NDArray[np.bool_] | None:
    """Which rows stay, or None for all; columns whose policy is `error` may miss nothing."""
    drop: NDArray[np.bool_] | None = None
    for attribute in schema.attributes:
        if attribute.role is Role.IDENTIFIER:
            continue
        if attribute.role is Role.KEEP and attribute.missing is Missing.ERROR:
            continue  # a kept column is released as it is, gaps included
        absent = (
            np.isnan(numbers[attribute.name])
            if attribute.name in numbers
            else table.column(attribute.name).is_null().to_numpy()
        )
        if not absent.any():
            continue
        if attribute.missing is Missing.ERROR:
            raise DataError(
                f"Column '{attribute.name}' misses {int(absent.sum())} value(s), the first in row {_first(absent)}.",
                f"Fill them, or write `missing: drop row` for '{attribute.name}' in the schema.",
            )
        drop = absent if drop is None else drop | absent
    return None if drop is None else ~drop


def _inside(values: Floats, attribute: Attribute) -> tuple[Floats, int]:
    domain = attribute.bounds()
    lowest, highest = values.min(), values.max()
    if lowest >= domain.lower and highest <= domain.upper:
        return values, 0
    outside = int(((values < domain.lower) | (values > domain.upper)).sum())
    if attribute.outside is Outside.CLIP:
        return np.clip(values, domain.lower, domain.upper), outside
    raise DataError(
        f"Column '{attribute.name}' has {outside} value(s) outside its declared domain.",
        "Widen the domain if public knowledge allows, or write `outside: clip` in the schema.",
    )


def _first(mask: NDArray[np.bool_]) -> int:
    return int(mask.argmax()) + 1
