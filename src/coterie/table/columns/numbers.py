"""Ranges: an Arrow column of numbers, dates or timestamps → doubles with NaN for missing → released values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.errors import DataError, SchemaError
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Attribute, AttributeType, Domain, Outside
from coterie.schema.domain import as_number
from coterie.table.columns import cells
from coterie.table.columns.column import NumericColumn
from coterie.table.columns.released_type import released_field

_STEP = {AttributeType.INTEGER: 1.0, AttributeType.DATE: 1.0, AttributeType.TIMESTAMP: 1.0}


def numeric_column(column: pa.ChunkedArray, attribute: Attribute) -> NumericColumn:
    """Numbers still unchecked against their bounds; missing ones are NaN."""
    moment = attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP)
    values = cells.moments(column, attribute) if moment else cells.numbers(column, attribute)
    field = released_field(attribute)
    return NumericColumn(
        attribute, values, attribute.bounds(), step_of(attribute), field, partial(_restored, field.type)
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
    if not beyond.any():  # gaps that are an outcome of their own
        return column, 0
    if attribute.outside is Outside.ERROR:
        raise DataError(
            f"Column '{attribute.name}' has values outside its declared domain.",
            "Widen the domain if public knowledge allows, or write `outside: clip` in the schema.",
        )
    clipped = np.clip(values, domain.lower, domain.upper)
    return replace(column, values=clipped), int(beyond.sum())


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


def _restored(kind: pa.DataType, values: Floats) -> pa.Array:
    """Released numbers as the type of the release; days and seconds since 1970 as dates and timestamps."""
    gaps = np.isnan(values)
    if gaps.any():
        return pc.if_else(pa.array(gaps), pa.scalar(None, kind), _restored(kind, np.where(gaps, 0.0, values)))
    if pa.types.is_floating(kind):
        return _arrow(values)
    whole = _arrow(values.astype(np.int64))
    if pa.types.is_date(kind):
        return whole.cast(pa.int32()).cast(kind)
    return whole.cast(pa.timestamp("s")).cast(kind) if pa.types.is_timestamp(kind) else whole


def _arrow(values: NDArray[Any]) -> pa.Array:
    """The same memory as an Arrow array. (pa.array would do, but it imports pandas.)"""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
