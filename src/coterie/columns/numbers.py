"""Ranges: an Arrow column of numbers, dates or timestamps → doubles with NaN for missing → released values."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.columns.column import Floats, NumericColumn
from coterie.columns.released_type import released_field
from coterie.errors import DataError, SchemaError
from coterie.moments import as_number
from coterie.schema import Attribute, AttributeType, Domain, Outside

_STEP = {AttributeType.INTEGER: 1.0, AttributeType.DATE: 1.0, AttributeType.TIMESTAMP: 1.0}


def numeric_column(column: pa.ChunkedArray, attribute: Attribute) -> NumericColumn:
    """Numbers still unchecked against their bounds; missing ones are NaN."""
    if attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        values = _moments(column, attribute)
    else:
        values = _numbers(column, attribute)
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
    outside = int(((values < domain.lower) | (values > domain.upper)).sum())
    if attribute.outside is Outside.ERROR:
        raise DataError(
            f"Column '{attribute.name}' has {outside} value(s) outside its declared domain.",
            "Widen the domain if public knowledge allows, or write `outside: clip` in the schema.",
        )
    clipped = np.clip(values, domain.lower, domain.upper)
    return replace(column, values=clipped), outside


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


def _numbers(column: pa.ChunkedArray, attribute: Attribute) -> Floats:
    name, kind = attribute.name, column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if is_text(kind):
        column = _text_as_numbers(column, attribute)
    elif pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(
            f"Column '{name}' holds {kind}, not numbers.",
            f"Declare another type for '{name}' in the schema, or another role.",
        )
    if pa.types.is_integer(kind) and _beyond_doubles(column):
        raise DataError(
            f"Column '{name}' holds integers beyond ±2^53, which doubles cannot carry exactly.",
            "Rescale the attribute, or give it the role `identifier`.",
        )
    values = _doubles(column.cast(pa.float64(), safe=False))
    marks = [float(mark) for mark in attribute.missing_marks if _is_number(pa.scalar(mark))]
    if marks:
        values = np.where(np.isin(values, marks), np.nan, values)
    infinite = np.isinf(values)
    if infinite.any():
        raise DataError(
            f"Column '{name}' holds {int(infinite.sum())} infinite value(s), the first in row {first(infinite)}.",
            "Correct the table: no domain contains infinity.",
        )
    if attribute.type is AttributeType.INTEGER:
        broken = (values != np.rint(values)) & ~np.isnan(values)
        if broken.any():
            raise DataError(
                f"Column '{name}' is declared integer, but {int(broken.sum())} value(s) have a fraction, "
                f"the first in row {first(broken)}.",
                "Declare it `type: continuous`, or correct the table.",
            )
    return np.asarray(values)


def _doubles(column: pa.ChunkedArray) -> Floats:
    """A single chunk without nulls is not copied; nulls become NaN."""
    if column.null_count or not len(column):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    # to_numpy would do, but it imports pandas.
    chunks: list[Floats] = [np.asarray(np.from_dlpack(chunk)) for chunk in column.chunks if len(chunk)]
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def _moments(column: pa.ChunkedArray, attribute: Attribute) -> Floats:
    """Days or seconds since 1970, UTC."""
    is_date = attribute.type is AttributeType.DATE
    unit, to = ("D", pa.date32()) if is_date else ("us", pa.timestamp("us"))
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if is_text(kind):
        column = without_marks(column, attribute)
    elif pa.types.is_timestamp(kind) and kind.tz is not None:
        # The day on the wall where it happened; a moment is the same everywhere.
        column = pc.local_timestamp(column) if is_date else column.cast(pa.timestamp("us", tz="UTC"))
    try:
        try:
            moments = column.cast(to, safe=False)
        except pa.ArrowInvalid:
            if is_date:
                raise
            moments = column.cast(pa.timestamp("us", tz="UTC"), safe=False).cast(to)  # text with Z or +02:00
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        shape = "2026-01-31" if is_date else "2026-01-31T12:00:00"
        raise DataError(
            f"Column '{attribute.name}' holds something that is not a {attribute.type.value}.",
            f"Write its values like {shape}, mark missing ones as empty, or declare another type.",
        ) from None
    stamps = moments.to_numpy(zero_copy_only=False).astype(f"datetime64[{unit}]")
    values = stamps.astype(np.int64).astype(np.float64) / (1 if is_date else 1e6)
    values[np.isnat(stamps)] = np.nan
    return np.asarray(values)


def _restored(kind: pa.DataType, values: Floats) -> pa.Array:
    """Released numbers as the type of the release; days and seconds since 1970 as dates and timestamps."""
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


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def _beyond_doubles(column: pa.ChunkedArray) -> bool:
    extremes = pc.min_max(column).as_py()
    return any(value is not None and abs(value) > 2**53 for value in extremes.values())


def without_marks(column: pa.ChunkedArray, attribute: Attribute) -> pa.ChunkedArray:
    """Text, trimmed, with empty cells and the schema's marks as nulls."""
    trimmed = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    marks = pa.array(["", *attribute.missing_marks], pa.large_string())
    return pc.if_else(pc.is_in(trimmed, marks), pa.scalar(None, trimmed.type), trimmed)


def kept_gaps(column: pa.ChunkedArray, attribute: Attribute) -> NDArray[np.bool_]:
    """What is missing in a column that is released as it is: nulls, NaN, and the schema's marks."""
    if is_text(column.type):
        column = without_marks(column, attribute)
    absent = column.is_null(nan_is_null=True) if pa.types.is_floating(column.type) else column.is_null()
    return np.asarray(absent.to_numpy(), dtype=np.bool_)


def _text_as_numbers(column: pa.ChunkedArray, attribute: Attribute) -> pa.ChunkedArray:
    name, trimmed = attribute.name, without_marks(column, attribute)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    row = next(row for row, text in enumerate(trimmed, start=1) if not _is_number(text))
    comma = re.fullmatch(r"[+-]?[0-9]+,[0-9]+", trimmed[row - 1].as_py() or "")
    raise DataError(
        f"Column '{name}' holds text that is not a number, first in row {row}.",
        "Its numbers have a decimal comma: write them with a point."
        if comma
        else f"Correct that row, name what marks a missing value (`missing_marks`), or declare another type for '{name}'.",
    )


def _is_number(text: pa.Scalar) -> bool:
    """Asked of Arrow, whose numbers are fewer than Python's (`1_000` is one only there)."""
    try:
        text.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def first(mask: NDArray[np.bool_]) -> int:
    """Number of the first marked row, counted from 1."""
    return int(mask.argmax()) + 1
