"""ε is exact: what is read, split, printed and rounded."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import ParameterError
from coterie.schema.exact import as_text, float_up, parse_epsilon, quotient_up, split

positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6)


@pytest.mark.parametrize(
    ("given_as", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(1, 10)),  # the text of the double, not its binary neighbour
        (" 1.0 ", Fraction(1)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        (2, Fraction(2)),
        (Decimal("0.25"), Fraction(1, 4)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_epsilon_is_read_exactly(given_as: object, exact: Fraction) -> None:
    assert parse_epsilon(given_as) == exact  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad",
    [
        0,
        "0",
        "-1",
        -0.5,
        "nan",
        float("nan"),
        "inf",
        "-inf",
        float("inf"),
        "one",
        "",
        "1,5",
        "0x1",
        "1/0",
        "0/5",
        True,
        False,
        None,
        [],
        b"1",
        "1e999999999",
        "1e-999999999",
        "1e301",
        "1e-301",
        10**400,
        Fraction(1, 10**400),
        "1/1" + "0" * 400,
        "1" + "0" * 400 + "/1",
        Decimal("NaN"),
    ],
    ids=lambda bad: repr(bad)[:20],
)
def test_what_is_no_budget_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_epsilon(bad)  # type: ignore[arg-type]
    assert "epsilon" in caught.value.problem
    assert "0.5" in caught.value.advice


@given(
    positive,
    st.dictionaries(st.text(max_size=3), st.fractions(Fraction(1, 1000), 1000), min_size=1, max_size=9),
)
def test_the_parts_sum_exactly_to_the_whole(epsilon: Fraction, weights: dict[str, Fraction]) -> None:
    parts = split(epsilon, weights)
    assert sum(parts.values()) == epsilon
    assert parts.keys() == weights.keys()
    first = next(iter(weights))
    assert all(parts[name] * weights[first] == parts[first] * weights[name] for name in weights)
    assert all(part > 0 for part in parts.values())


def test_equal_weights_give_equal_parts() -> None:
    assert split(Fraction(1), dict.fromkeys("abc", Fraction(1))) == dict.fromkeys("abc", Fraction(1, 3))


def test_nobody_to_share_with_is_refused() -> None:
    with pytest.raises(ParameterError, match="budget share"):
        split(Fraction(1), {})


@given(positive)
def test_text_and_back(value: Fraction) -> None:
    assert parse_epsilon(as_text(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1), "1"),
        (Fraction(1, 8), "0.125"),
        (Fraction(1, 3), "1/3"),
        (Fraction(100), "100"),
        (Fraction(1, 100), "0.01"),
        (Fraction(-5, 2), "-2.5"),
    ],
)
def test_text_is_a_decimal_where_one_exists(value: Fraction, text: str) -> None:
    assert as_text(value) == text


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_rounding_up_is_the_nearest_double_from_above(value: Fraction) -> None:
    rounded = float_up(value)
    assert Fraction(rounded) >= value
    # and not one double more than needed
    assert Fraction(rounded) - value < Fraction(rounded) * Fraction(1, 2**51)


@given(st.integers(1, 10**30), st.integers(1, 10**30), st.integers(1, 1000))
def test_a_quotient_is_rounded_up_as_its_fraction_is(over: int, under: int, common: int) -> None:
    assert quotient_up(over * common, under * common) == float_up(Fraction(over, under))
