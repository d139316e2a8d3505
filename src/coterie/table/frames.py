"""The door for data frames: pandas, polars, pyarrow or a dict of lists in; the same kind out again.

The kind of frame is all that a release takes from the input: its dtypes follow from the released Arrow types, which follow
from the schema. Only columns that are released untouched have the dtype they came with.
The index of a pandas frame does not pass (it may name people); the released frame counts from 0.
A lazy frame is refused rather than collected: reading a whole source is the caller's decision, and what came
out would be lazy no longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import Any

import narwhals as nw
import pyarrow as pa

from coterie.errors import DataError, ParameterError
from coterie.schema.attributes import Role, Schema
from coterie.table.columns.cells import check_names, stored

Restore = Callable[[pa.Table, Container[str]], Any]  # the released table, and its columns that are untouched

_ACCEPTED = "Give a pandas or polars DataFrame, a pyarrow Table, or a dict of equally long lists."


def to_arrow(frame: Any, schema: Schema | None = None) -> tuple[pa.Table, Restore]:
    """The frame as an Arrow table, numbers without a copy, and a function that makes the same kind again.

    Frames may hold Python objects of any kind in a column. Each such cell is read for itself, as coterie.table.columns.cells
    says; in a kept column, which is released as it is, they must be of one kind. Without a schema nothing is released.
    """
    if isinstance(frame, dict):
        return _from_dict(frame, schema), lambda table, kept: table.to_pydict()
    if isinstance(frame, pa.RecordBatch):
        return to_arrow(pa.Table.from_batches([frame]), schema)
    if isinstance(frame, pa.Table):
        check_names(frame.column_names)
        return frame, lambda table, kept: table
    if nw.dependencies.is_pandas_dataframe(frame):
        check_names(frame.columns)
        table = pa.table({name: _from_series(name, frame[name], schema) for name in frame.columns})
        dtypes = frame.dtypes
        return table, lambda released, kept: _to_pandas(released, kept, dtypes)
    if nw.dependencies.is_polars_dataframe(frame):
        check_names(frame.columns)
        restore = lambda table, kept: nw.from_arrow(table, backend="polars").to_native()  # noqa: E731
        return _from_polars(frame, schema), restore
    if isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame):
        raise ParameterError(
            "The table is a lazy frame.", "Call its .collect() first, or give a file's path."
        )
    raise ParameterError(f"A {type(frame).__name__} is not a table that Coterie knows.", _ACCEPTED)


def _from_dict(columns: dict[Any, Any], schema: Schema | None) -> pa.Table:
    check_names(columns)
    arrays = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise ParameterError(f"Column '{name}' is a {type(values).__name__}, not a list.", _ACCEPTED)
        typed = hasattr(values, "dtype") and values.dtype != object
        arrays[name] = _array(name, values) if typed else _cells(name, values, schema)
    if len({len(array) for array in arrays.values()}) > 1:
        raise DataError("The lists have different lengths.", "Give each column one entry per row.")
    return pa.table(arrays)


def _from_series(name: str, series: Any, schema: Schema | None) -> pa.Array | pa.ChunkedArray:
    if series.dtype == object:
        return _cells(name, series.tolist(), schema)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # such as categories of several kinds
        return _cells(name, series.tolist(), schema)


def _from_polars(frame: Any, schema: Schema | None) -> pa.Table:
    objects = [name for name, dtype in frame.schema.items() if str(dtype) == "Object"]
    try:
        arrays = {name: frame[name].to_arrow() for name in frame.columns if name not in objects}
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DataError("The polars frame cannot be read.", _ACCEPTED) from None
    arrays |= {name: _cells(name, frame[name].to_list(), schema) for name in objects}
    return pa.table({name: arrays[name] for name in frame.columns})


def _cells(name: str, values: Any, schema: Schema | None) -> pa.Array | pa.ChunkedArray:
    if schema is None:
        try:
            return stored(name, values)
        except DataError:
            return _array(name, values)  # lists and bytes, which nobody may ask for
    described = {attribute.name: attribute.role for attribute in schema.attributes}
    if described.get(name, Role.KEEP) is Role.KEEP:
        return _array(name, values)
    return stored(name, values)


def _array(name: str, values: Any) -> pa.Array | pa.ChunkedArray:
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Arrow's message quotes the value.
        raise _mixed(name, values) from None
    if pa.types.is_binary(array.type) and any(isinstance(value, str) for value in values):
        raise _mixed(name, values)  # Arrow would make bytes of the texts
    return array


def _mixed(name: str, values: Any) -> DataError:
    advice = "Make it one kind: numbers (with None for missing ones) or text."
    seen: set[type] = set()
    for row, value in enumerate(values, start=1):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        seen.add(float if isinstance(value, int | float) and not isinstance(value, bool) else type(value))
        if len(seen) > 1:
            return DataError(
                f"Column '{name}' mixes kinds of values.", advice, detail=f"The first such row is {row}."
            )
    return DataError(f"Column '{name}' cannot be read as numbers, text, dates or truth values.", advice)


def _to_pandas(table: pa.Table, kept: Container[str], dtypes: Any) -> Any:
    """A frame with writable columns. Where the schema allows gaps, a dtype that holds them, be there any or not."""
    import pandas as pd

    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    frame = table.to_pandas()
    for field, column in zip(table.schema, table.columns, strict=True):
        if field.name in kept:
            dtype = dtypes[field.name]
        elif pa.types.is_date(field.type):
            frame[field.name] = column.cast(pa.timestamp("us")).to_pandas()
            continue
        else:
            dtype = nullable.get(field.type) if field.nullable else None
        # Straight from Arrow, not through `frame`, where a missing value has made integers inexact floats.
        if hasattr(dtype, "__from_arrow__"):
            frame[field.name] = dtype.__from_arrow__(column)
        elif dtype == "object":
            frame[field.name] = pd.Series(column.to_pylist(), dtype=object)
    return frame
