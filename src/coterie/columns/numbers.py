"""Ranges: an Arrow column of numbers, dates or timestamps → doubles with NaN for missing → released values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.columns import cells
from coterie.columns.column import Floats, NumericColumn
from coterie.errors import DataError, SchemaError
from coterie.moments import as_number
from coterie.schema import Attribute, AttributeType, Domain, Outside

_STEP = {AttributeType.INTEGER: 1.0, AttributeType.DATE: 1.0, AttributeType.TIMESTAMP: 1.0}


def numeric_column(column: pa.ChunkedArray, attribute: Attribute) -> NumericColumn:
    """Numbers still unchecked against their bounds; missing ones are NaN."""
    kind = column.type
    moment = attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP)
    values = cells.moments(column, attribute) if moment else cells.numbers(column, attribute)
    return NumericColumn(
        attribute, values, attribute.bounds(), step_of(attribute), _restorer(kind, attribute)
    )


def step_of(attribute: Attribute) -> float | None:
    return 10.0**-attribute.decimals if attribute.decimals is not None else _STEP.get(attribute.type)


def filled(column: NumericColumn, absent: NDArray[np.bool_]) -> NumericColumn:
    """`missing: impute`: one public value stands in."""
    value = stand_in(column.attribute, column.domain, column.step)
    return replace(column, values=np.where(absent, value, column.values))


def stand_in(attribute: Attribute, domain: Domain, step: float | None) -> float:
    """The middle of the domain unless the schema names another value."""
    middle = domain.lower + (domain.upper - domain.lower) / 2
    value = middle if attribute.impute is None else _declared(attribute, domain)
    return value if step is None else round(value / step) * step


def inside(column: NumericColumn) -> tuple[NumericColumn, int]:
    """All values within the domain: refused or clipped, as the schema says; and how many were not."""
    domain, values, attribute = column.domain, column.values, column.attribute
    if values.min() >= domain.lower and values.max() <= domain.upper:
        return column, 0
    beyond = (values < domain.lower) | (values > domain.upper)
    if attribute.outside is Outside.ERROR:
        raise DataError(
            f"Column '{attribute.name}' has values outside its declared domain.",
            "Widen the domain if public knowledge allows, or write `outside: clip` in the schema.",
        )
    clipped = np.clip(values, domain.lower, domain.upper)
    return NumericColumn(attribute, clipped, domain, column.step, column.restore), int(beyond.sum())


def _declared(attribute: Attribute, domain: Domain) -> float:
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


def _restorer(kind: pa.DataType, attribute: Attribute) -> Callable[[Floats], pa.Array]:
    """From released numbers to values of the type that came in, as far as it can hold them."""
    if attribute.type is AttributeType.DATE:
        naive = pa.types.is_date64(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
        day = kind if naive else pa.date32()
        return lambda values: _arrow(values.astype(np.int64)).cast(pa.int32()).cast(pa.date32()).cast(day)
    if attribute.type is AttributeType.TIMESTAMP:
        return partial(_timestamps, kind=kind if pa.types.is_timestamp(kind) else pa.timestamp("s"))
    if attribute.type is AttributeType.INTEGER:
        return lambda values: _arrow(values.astype(np.int64))
    if pa.types.is_decimal(kind):
        # Rounded to the column's own places; more digits than doubles carry would be noise anyway.
        return lambda values: _arrow(values).cast(pa.decimal128(38, kind.scale), safe=False)
    return _arrow


def _arrow(values: NDArray[Any]) -> pa.Array:
    """The same memory as an Arrow array. (pa.array would do, but it imports pandas.)"""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def _timestamps(values: Floats, kind: pa.TimestampType) -> pa.Array:
    seconds = _arrow(values.astype(np.int64)).cast(pa.timestamp("s", tz=kind.tz))
    try:
        return seconds.cast(kind)
    except pa.ArrowInvalid:  # nanoseconds reach from 1677 to 2262 only; the domain may be wider
        return seconds
