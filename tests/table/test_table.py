"""table + Schema: what passes, what is refused, and that no refusal shows a value."""

from __future__ import annotations

import decimal
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import Attribute, Domain, Role, Schema
from coterie.errors import CoterieError, DataError, SchemaError
from coterie.schema.attributes import AttributeType, Outside
from coterie.table.checked import Checked, check
from coterie.table.columns.column import NumericColumn

SECRET = 73_193.25  # no message may hold it


def _schema(**entries: object) -> Schema:
    entries = {"role": Role.PROTECT, "domain": Domain(lower=0, upper=100_000), **entries}
    return Schema(attributes=(Attribute(name="x", **entries),))


def _check(values: object, **entries: object) -> np.ndarray:
    return _numbers(check(pa.table({"x": values}), _schema(**entries)), "x")


def _numbers(checked: Checked, name: str) -> np.ndarray:
    column = checked.columns[name]
    assert isinstance(column, NumericColumn)
    return column.values


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 3], pa.int8()),
        pa.array([1, 2, 3], pa.uint64()),
        pa.array([1.0, 2.0, 3.0], pa.float32()),
        pa.array([decimal.Decimal("1.0"), decimal.Decimal("2.0"), decimal.Decimal("3.0")]),
        pa.array(["1", " 2.0 ", "3e0"]),
        pa.array(["1", "2", "3"], pa.large_string()),
        pa.array(["1", "2", "3"]).dictionary_encode(),
        pa.chunked_array([[1.0], [2.0, 3.0]]),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_numbers_of_every_kind_come_in(column: object) -> None:
    assert _check(column).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["1", f"{SECRET} EUR", "3"], "text that is not a number. The first is in row 2."),
        (["1", "2", "1_000"], "The first is in row 3"),  # a number to Python, not to Arrow
        (["1", "٣", "2"], "The first is in row 2"),
        ([1.0, None, SECRET], "has missing values. The first is in row 2."),
        ([math.nan, 1.0, math.nan], "has missing values. The first is in row 1."),
        (["1", "", SECRET.__repr__()], "has missing values. The first is in row 2."),
        (
            [1.0, SECRET, math.inf],
            "infinity, or a number beyond the range of doubles. The first is in row 3.",
        ),
        ([1.0, -math.inf, -math.inf], "The first is in row 2."),
        ([1.0, -SECRET, 2e5], "has values outside its declared domain"),
        ([True, False, True], "not numbers"),
        ([b"1", b"2", b"3"], "not numbers"),
        ([[1.0], [2.0], [3.0]], "not numbers"),
        ([None, None, None], "has missing values"),
        ([1.0], "fewer than two rows"),
        ([], "fewer than two rows"),
    ],
)
def test_each_bad_column_is_refused(values: list[object], says: str) -> None:
    with pytest.raises(DataError) as caught:
        _check(values)
    assert says in caught.value.located
    assert caught.value.advice
    assert "73193" not in str(caught.value).replace("_", "")


def test_integers_must_be_whole() -> None:
    with pytest.raises(DataError, match=r"has values with a fraction\. The first is in row 2"):
        _check([1.0, 2.5, 3.0], type=AttributeType.INTEGER)
    assert _check([1.0, 2.0], type=AttributeType.INTEGER).tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match=r"2\^53"):
        _check([2**60, 1, 2], type=AttributeType.INTEGER)


def test_a_protected_attribute_needs_a_domain() -> None:
    with pytest.raises(SchemaError, match="no domain"):
        _check([1.0, 2.0], domain=None)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_clipping_counts_and_stays_inside(values: list[float]) -> None:
    checked = check(pa.table({"x": values}), _schema(outside=Outside.CLIP))
    column = _numbers(checked, "x")
    assert column.min() >= 0
    assert column.max() <= 100_000
    outside = [value for value in values if not 0 <= value <= 100_000]
    assert checked.values_clipped == {"x": len(outside)}
    kept = [value for value in values if 0 <= value <= 100_000]
    assert [value for value, was in zip(column, values, strict=True) if 0 <= was <= 100_000] == kept


def test_columns_and_schema_must_agree() -> None:
    schema = Schema(attributes=(Attribute(name="income", role=Role.KEEP),))
    with pytest.raises(SchemaError, match="Did you mean 'incme'"):
        check(pa.table({"incme": [1, 2]}), schema)
    with pytest.raises(SchemaError, match="'other' that the schema does not describe"):
        check(pa.table({"income": [1, 2], "other": [1, 2]}), schema)
    with pytest.raises(DataError, match="More than one column is named 'income'"):
        check(pa.table([[1, 2], [1, 2]], names=["income", "income"]), schema)
    with pytest.raises(SchemaError, match="No attribute is protected"):
        check(pa.table({"income": [1, 2]}), schema)


cells = st.one_of(
    st.none(),
    st.just(SECRET),
    st.sampled_from([math.nan, math.inf, -SECRET, 1e5 + SECRET]),
    st.floats(0, 1e5),
)


@given(
    st.one_of(
        st.lists(cells, max_size=6), st.lists(st.sampled_from(["7319325", "x7319325", "", "7_3_1_9_3_2_5"]))
    )
)
def test_a_table_passes_whole_or_is_refused_without_a_value(values: list[object]) -> None:
    refusal = ""
    try:
        column = _check(pa.array(values))
    except CoterieError as error:
        refusal = str(error)
    if refusal:
        assert "73193" not in refusal.replace("_", "")
    else:
        assert np.isfinite(column).all()
        assert column.min() >= 0
        assert column.max() <= 1e5
        assert len(column) == len(values)
