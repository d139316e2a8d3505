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
from coterie.io.names import check_names

Restore = Callable[[pa.Table, Container[str]], Any]  # the released table, and its columns that are untouched

_ACCEPTED = "Give a pandas or polars DataFrame, a pyarrow Table, or a dict of equally long lists."


def to_arrow(frame: Any) -> tuple[pa.Table, Restore]:
    """The frame as an Arrow table, numbers without a copy, and a function that makes the same kind again."""
    if isinstance(frame, dict):
        return _from_dict(frame), lambda table, kept: table.to_pydict()
    if isinstance(frame, pa.RecordBatch):
        return to_arrow(pa.Table.from_batches([frame]))
    if isinstance(frame, pa.Table):
        check_names(frame.column_names)
        return frame, lambda table, kept: table
    if nw.dependencies.is_pandas_dataframe(frame):
        check_names(frame.columns)
        dtypes = frame.dtypes
        return _from_pandas(frame), lambda table, kept: _to_pandas(table, kept, dtypes)
    if nw.dependencies.is_polars_dataframe(frame):
        check_names(frame.columns)
        for name, dtype in frame.schema.items():
            if str(dtype) == "Object":
                raise _mixed(name, frame[name])
        return frame.to_arrow(), lambda table, kept: nw.from_arrow(table, backend="polars").to_native()
    if isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame):
        raise ParameterError(
            "The table is a lazy frame.", "Call its .collect() first, or give a file's path."
        )
    raise ParameterError(f"A {type(frame).__name__} is not a table that Coterie knows.", _ACCEPTED)


def _from_dict(columns: dict[Any, Any]) -> pa.Table:
    check_names(columns)
    arrays = {name: _array(name, values) for name, values in columns.items()}
    if len({len(array) for array in arrays.values()}) > 1:
        raise DataError("The lists have different lengths.", "Give each column one entry a row.")
    return pa.table(arrays)


def _array(name: str, values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise ParameterError(f"Column '{name}' is a {type(values).__name__}, not a list.", _ACCEPTED)
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Arrow's message quotes the value.
        raise _mixed(name, values) from None


def _mixed(name: str, values: Any) -> DataError:
    advice = "Make it one kind: numbers (with None for missing ones) or text."
    seen: set[type] = set()
    for row, value in enumerate(values, start=1):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        seen.add(float if isinstance(value, int | float) and not isinstance(value, bool) else type(value))
        if len(seen) > 1:
            return DataError(f"Column '{name}' mixes kinds of values, first in row {row}.", advice)
    return DataError(f"Column '{name}' cannot be read as numbers, text, dates or truth values.", advice)


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    for name in frame.columns:
        _array(name, frame[name])
    raise DataError("The pandas frame cannot be read.", _ACCEPTED)


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
