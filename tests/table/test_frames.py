"""Frames at the door: each kind comes back as it came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import Schema, protect
from coterie.errors import DataError, ParameterError
from coterie.schema.attributes import Attribute
from coterie.table.frames import to_arrow

CANARY = "canary-4711"
COLUMNS: dict[str, list[Any]] = {"income": [1, 2, 3], "share": [0.5, 1.5, 2.5], "name": ["a", "b", "c"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_the_same_kind_comes_out(make: Any) -> None:
    frame = make(COLUMNS)
    table, restore = to_arrow(frame)
    assert table.to_pydict() == COLUMNS
    back = restore(table, table.column_names)
    assert type(back) is type(frame)
    equal = back == frame if isinstance(frame, dict) else back.equals(frame)
    assert equal


def test_pandas_index_does_not_pass() -> None:
    frame = pd.DataFrame(COLUMNS, index=["Ada", "Bo", "Cy"])
    table, restore = to_arrow(frame)
    assert table.column_names == list(COLUMNS)
    assert list(restore(table, table.column_names).index) == [0, 1, 2]


@pytest.mark.parametrize(
    "dtype", ["int32", "Int64", "float32", "Float64", "int64[pyarrow]", "double[pyarrow]"]
)
def test_kept_pandas_columns_keep_their_dtypes(dtype: str) -> None:
    frame = pd.DataFrame({"x": pd.array([1, 2, 3], dtype=dtype)})
    table, restore = to_arrow(frame)
    pd.testing.assert_frame_equal(restore(table, table.column_names), frame)


def test_kept_pandas_columns_with_gaps_keep_nullable_dtypes() -> None:
    frame = pd.DataFrame({"x": pd.array([1, None], dtype="Int64"), "y": [1.0, np.nan]})
    table, restore = to_arrow(frame)
    assert table.to_pydict() == {"x": [1, None], "y": [1.0, None]}
    pd.testing.assert_frame_equal(restore(table, table.column_names), frame)


def test_released_pandas_columns_are_writable() -> None:
    for columns in ({"x": np.arange(3.0)}, {"x": np.arange(3.0), "y": np.arange(3.0)}):
        table, restore = to_arrow(pd.DataFrame(columns))
        back = restore(table, table.column_names)
        back.loc[0, "x"] = 7.0
        assert back["x"].tolist() == [7.0, 1.0, 2.0]
        assert table["x"].to_pylist() == [0.0, 1.0, 2.0]


def test_restoring_a_changed_table() -> None:
    """Released tables lose columns and rows, and may change a type."""
    for make in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        _, restore = to_arrow(make(COLUMNS))
        released = pa.table({"share": [1.25], "income": [2.5], "new": ["x"]})
        back = restore(released, ())
        assert list(
            back.columns
            if hasattr(back, "columns") and not isinstance(back, pa.Table)
            else back.column_names
            if isinstance(back, pa.Table)
            else back
        ) == ["share", "income", "new"]


def test_numbers_are_not_copied() -> None:
    values = np.random.default_rng(1).random(1000)
    for frame in (
        pd.DataFrame({"x": values}, copy=False),
        pl.DataFrame({"x": values}),
        pa.table({"x": values}),
    ):
        table, _ = to_arrow(frame)
        address = table["x"].chunk(0).buffers()[1].address
        if isinstance(frame, pd.DataFrame):
            assert address == frame["x"].to_numpy().ctypes.data
        elif isinstance(frame, pl.DataFrame):
            assert address == frame["x"].to_numpy(allow_copy=False).ctypes.data
        else:
            assert table is frame


def test_duplicate_pandas_columns() -> None:
    frame = pd.DataFrame([[CANARY, 2, 3]], columns=["a", "b", "a"])
    with pytest.raises(DataError, match="'a'") as caught:
        to_arrow(frame)
    assert CANARY not in str(caught.value)


def test_duplicate_arrow_columns() -> None:
    with pytest.raises(DataError, match="'a'"):
        to_arrow(pa.table([[1], [2]], names=["a", "a"]))


def test_names_that_are_not_text() -> None:
    with pytest.raises(DataError, match="Column 1 is named by a int"):
        to_arrow(pd.DataFrame([[1, 2]]))
    with pytest.raises(DataError, match="Column 2"):
        to_arrow({"a": [1], 2: [1]})
    with pytest.raises(DataError, match="Column 1 has no name"):
        to_arrow({"": [1]})


@pytest.mark.parametrize(
    "frame",
    [[1, 2], 7, "file.csv", None, np.zeros((2, 2)), pd.Series([1]), pl.Series([1]), pa.array([1]), object()],
)
def test_what_is_no_table(frame: Any) -> None:
    with pytest.raises(ParameterError, match="pandas or polars DataFrame") as caught:
        to_arrow(frame)
    assert type(frame).__name__ in caught.value.problem


def test_lazy_frames_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"\.collect\(\)"):
        to_arrow(pl.LazyFrame(COLUMNS))


KEPT = Schema.load({"attributes": {"x": {"role": "keep"}}})  # released as it is, so of one kind


@pytest.mark.parametrize("make", [pd.DataFrame, dict])
def test_mixed_column_is_named_with_its_row(make: Any) -> None:
    with pytest.raises(DataError, match=r"'x' mixes kinds of values\. The first such row is 4") as caught:
        to_arrow(make({"ok": [1, 2, 3, 4], "x": [1, None, 2.5, CANARY]}), KEPT)
    assert CANARY not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_mixed_polars_objects() -> None:
    with pytest.raises(DataError, match=r"'x' mixes kinds of values\. The first such row is 2") as caught:
        to_arrow(pl.DataFrame({"x": pl.Series([1, CANARY], dtype=pl.Object)}), KEPT)
    assert CANARY not in str(caught.value)


def test_dict_faults() -> None:
    with pytest.raises(DataError, match="different lengths"):
        to_arrow({"a": [1, 2], "b": [1]})
    with pytest.raises(ParameterError, match="'a' is a str"):
        to_arrow({"a": CANARY})
    with pytest.raises(ParameterError, match="'a' is a int"):
        to_arrow({"a": 4711})
    with pytest.raises(DataError, match="'a' cannot be read"):
        to_arrow({"a": [object(), object()]})


numbers = st.floats(allow_nan=False) | st.none()


@given(st.lists(st.tuples(numbers, st.integers(-(2**63), 2**63 - 1), st.text() | st.none())))
def test_polars_arrow_and_dict_round_trip(rows: list[tuple[Any, Any, Any]]) -> None:
    schema = pa.schema([("x", pa.float64()), ("i", pa.int64()), ("s", pa.large_string())])
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    table = pa.table(columns, schema=schema)
    for frame in (table, pl.from_arrow(table)):
        arrow, restore = to_arrow(frame)
        assert arrow.equals(table)
        assert restore(arrow, ()).equals(frame)
    assert to_arrow(table.to_pydict())[0].to_pydict() == table.to_pydict()


@pytest.mark.parametrize("ordered", [False, True])
def test_a_protected_pandas_categorical_comes_back_as_plain_labels(ordered: bool) -> None:
    frame = pd.DataFrame(
        {"size": pd.Categorical(["s", "m", "l"] * 20, ["s", "m", "l", "xl"], ordered=ordered)}
    )
    described = {"type": "ordinal", "role": "protect", "categories": {"labels": ["s", "m", "l", "xl"]}}
    schema = Schema(attributes=[Attribute.model_validate({"name": "size", **described})])
    back = protect(frame, schema, method="ir", k=3).data["size"]
    assert back.dtype == pd.DataFrame({"size": ["s"]})["size"].dtype
    assert set(back) == {"s", "m", "l"}


def test_a_kept_pandas_categorical_is_one_again() -> None:
    frame = pd.DataFrame({"size": pd.Categorical(["s", "l"], ["s", "m", "l"], ordered=True)})
    table, restore = to_arrow(frame)
    pd.testing.assert_frame_equal(restore(table, ["size"]), frame)
