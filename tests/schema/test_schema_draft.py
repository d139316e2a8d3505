"""The draft: accepted by the schema, silent about the data."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import DataError, ParameterError, SchemaError
from coterie.schema.attributes import AttributeType, Role, Schema, Source
from coterie.schema.draft import drafted

TABLE = pa.table(
    {
        "age": [4711, 30, None],
        "share": [47.11, 0.5, 2.0],
        "whole": [1.0, 2.0, 3.0],
        "price": [Decimal("4711.50"), None, Decimal("1.25")],
        "name": ["canary", "b", "c"],
        "born": [date(1947, 11, 4)] * 3,
        "flag": [True, False, None],
    }
)


def test_types_and_roles() -> None:
    schema = Schema.load(drafted(TABLE, bounds_from_data=None).text)
    found = {attribute.name: (attribute.type, attribute.role) for attribute in schema.attributes}
    continuous, integer = AttributeType.CONTINUOUS, AttributeType.INTEGER
    assert found == {
        "age": (integer, Role.PROTECT),
        "share": (continuous, Role.PROTECT),
        "whole": (integer, Role.PROTECT),
        "price": (continuous, Role.PROTECT),
        "name": (continuous, Role.IDENTIFIER),
        "born": (AttributeType.DATE, Role.PROTECT),
        "flag": (AttributeType.BOOLEAN, Role.PROTECT),
    }


def test_open_bounds_must_be_filled() -> None:
    text = drafted(TABLE, bounds_from_data=None).text
    with pytest.raises(SchemaError, match="no domain"):
        Schema.load(text)["age"].bounds()
    filled = re.sub(r"lower: .*", "lower: 0", re.sub(r"upper: .*", "upper: 100", text))
    assert Schema.load(filled)["age"].bounds().source is Source.DECLARED


def test_no_value_without_leave() -> None:
    text = drafted(TABLE, bounds_from_data=None).text
    for trace in ("4711", "47.11", "canary", "1947", "1.25", "2.0"):
        assert trace not in text
    # Two tables with the same names and types give the same draft.
    other = pa.table([column.take(pa.array([2, 1, 0])) for column in TABLE.columns], schema=TABLE.schema)
    assert drafted(other, bounds_from_data=None).text == text


def bounds(values: Any, factor: float = 1.5) -> tuple[float, float]:
    text = drafted(pa.table({"x": values}), bounds_from_data=factor).text
    assert "WARNING" in text
    domain = Schema.load(text)["x"].bounds()
    assert domain.source is Source.DATA
    return domain.lower, domain.upper


def test_bounds_from_data() -> None:
    assert bounds([1.0, 10.0]) == (0, 15)
    assert bounds([1, 11]) == (0, 17)  # whole, outward
    assert bounds([-3, 11]) == (-5, 17)
    assert bounds([-10.0, -2.0]) == (-15, 0)  # 1.5 times a negative maximum would leave it outside
    assert bounds([Decimal("1.10")]) == (0, 1.6500000000000001)
    assert bounds([1.0, float("nan"), float("inf"), None]) == (0, 1.5)
    assert "negative" in drafted(pa.table({"x": [-1, 2]}), bounds_from_data=1.5).text


@pytest.mark.parametrize(
    "values",
    [[0, 0], pa.array([None, None], pa.float64()), pa.nulls(2), [], [float("nan")], [2**62, 1], [1e300, 0.0]],
)
def test_columns_without_usable_bounds(values: Any) -> None:
    table = pa.table({"x": pa.array(values)})
    for factor in (None, 1.5):
        text = drafted(table, bounds_from_data=factor).text
        assert factor is None or "    # " in text
        assert Schema.load(text)["x"].domain is None


def test_constant_column_gets_a_comment() -> None:
    assert "same number" in drafted(pa.table({"x": [5, 5]}), bounds_from_data=None).text
    assert bounds([5, 5]) == (0, 8)


@pytest.mark.parametrize("factor", [0.5, -1, float("nan"), float("inf"), "2"])
def test_impossible_factor(factor: Any) -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        drafted(TABLE, bounds_from_data=factor)


def test_tables_that_cannot_be_drafted() -> None:
    with pytest.raises(DataError, match="no columns"):
        drafted(pa.table({}), bounds_from_data=None)
    with pytest.raises(DataError, match="'a'"):
        Schema.draft(pa.table([[1], [2]], names=["a", "a"]))


@pytest.mark.parametrize(
    "name",
    [
        "yes",
        "null",
        "1",
        "1.5",
        "a: b",
        "a #b",
        " led",
        "trailed ",
        "- x",
        "? x",
        "Größe",
        "年齢",
        "'",
        '"',
        "{x}",
        "*x",
        "~",
        "a\nb",
        "tab\tbed",
        "2020-01-01",
        "😀",
        "=",
        "<<",
        "x" * 200,
        "\x07",
        "\u2028",
        "%a",
        "@b",
        "!c",
        "&d",
        "|",
        ">",
    ],
)
def test_awkward_names(name: str) -> None:
    for values in ([1, 2], ["a", "b"]):
        text = drafted(pa.table({name: values, "other": [1, 2]}), bounds_from_data=None).text
        assert [attribute.name for attribute in Schema.load(text).attributes] == [name, "other"]


name = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@given(st.lists(name, min_size=1, max_size=4, unique=True))
def test_any_name_survives(names: list[str]) -> None:
    text = drafted(pa.table([[1, 2]] * len(names), names=names), bounds_from_data=1.5).text
    assert [attribute.name for attribute in Schema.load(text).attributes] == names


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e280, max_value=1e280), min_size=1)
)
def test_drafted_bounds_hold_the_data(values: list[float]) -> None:
    schema = Schema.load(drafted(pa.table({"x": values}), bounds_from_data=1.0).text)
    domain = schema["x"].domain
    if domain is None:
        assert set(values) == {0.0}
    else:
        assert domain.lower <= min(values)
        assert max(values) <= domain.upper
