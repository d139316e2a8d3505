"""ε in plain words: exact where proved, silent where not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import ParameterError
from coterie.methods.guarantee import NOTHING, Guarantee, Status
from coterie.promise.posterior import most_sure, odds_in_words, share_in_words

PROVED = Guarantee("differential privacy", "1", Status.PROVED, "the released rows", "1-DP", (), "")


def test_half_sure_becomes_at_most_74_percent_at_one() -> None:
    assert "50 % sure before" in odds_in_words(PROVED)
    assert "at most 74 % sure" in odds_in_words(PROVED)


@given(st.floats(0, 12))
def test_a_limit_is_never_rounded_down(epsilon: float) -> None:
    """Was: "at most 73 %" for 73.1 %."""
    sure = most_sure(epsilon)
    shown = float(share_in_words(sure).removesuffix(" %"))
    assert sure * 100 - 1e-6 <= shown < 100
    assert shown - sure * 100 < 1


@given(st.floats(0, 30), st.floats(0.001, 0.999))
def test_odds_change_by_e_to_the_epsilon(epsilon: float, before: float) -> None:
    after = most_sure(epsilon, before)
    assert before - 1e-12 <= after <= 1
    if after < 1 - 1e-9:
        assert math.log(after / (1 - after)) - math.log(before / (1 - before)) == pytest.approx(
            epsilon, abs=1e-6
        )


def test_no_overflow_and_never_certainty() -> None:
    assert most_sure(1000) == pytest.approx(1)
    words = odds_in_words(replace(PROVED, value="8"))
    assert "99.97 %" in words
    assert "practically empty" in words
    assert "100 % sure" not in odds_in_words(replace(PROVED, value="12"))


@pytest.mark.parametrize("status", [Status.REFUTED, Status.HEURISTIC, Status.BOUNDED])
def test_no_number_without_a_proof(status: Status) -> None:
    words = odds_in_words(replace(PROVED, status=status, value="unbounded"))
    assert "%" not in words
    assert "measured" in words


def test_no_number_for_individual_dp_even_proved() -> None:
    words = odds_in_words(replace(PROVED, model="individual differential privacy"))
    assert "%" not in words
    assert "not differential privacy" in words


def test_conditions_are_said() -> None:
    assert "only under the condition" in odds_in_words(replace(PROVED, status=Status.CONDITIONAL))
    assert "is promised" in odds_in_words(NOTHING)


@pytest.mark.parametrize(("epsilon", "before"), [(-1.0, 0.5), (1.0, 0.0), (1.0, 1.0), (math.nan, 0.5)])
def test_impossible_beliefs(epsilon: float, before: float) -> None:
    with pytest.raises(ParameterError):
        most_sure(epsilon, before)
