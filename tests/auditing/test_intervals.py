"""Intervals cover as often as they say, and would be caught if they were too narrow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, rankdata

from coterie.auditing.attacks.finding import (
    Estimate,
    area_under_curve,
    epsilon_lower_bound,
    over_control,
    proportion,
    ranks_of,
    true_positives_at,
)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_clopper_pearson_is_scipys(counts: tuple[int, int]) -> None:
    hits, trials = counts
    expected = binomtest(hits, trials).proportion_ci(0.95, method="exact")
    found = proportion(hits, trials)
    assert found.low == pytest.approx(expected.low, abs=1e-9)
    assert found.high == pytest.approx(expected.high, abs=1e-9)


@given(st.lists(st.one_of(st.integers(0, 3).map(float), st.floats(-9, 9)), min_size=1, max_size=40))
def test_ranks_are_scipys(values: list[float]) -> None:
    assert ranks_of(np.array(values)).tolist() == rankdata(values).tolist()


def test_no_trials_say_nothing() -> None:
    nothing = proportion(0, 0)
    assert (nothing.low, nothing.high) == (0.0, 1.0)
    assert math.isnan(nothing.value)


@pytest.mark.statistical
def test_risk_over_control_covers_and_is_not_needlessly_wide() -> None:
    draw = np.random.default_rng(1)
    true = (0.6 - 0.2) / (1 - 0.2)
    inside, narrow = 0, 0
    for _ in range(1000):
        risk = over_control(
            proportion(int(draw.binomial(500, 0.6)), 500), proportion(int(draw.binomial(500, 0.2)), 500)
        )
        inside += risk.low <= true <= risk.high
        middle = (risk.low + risk.high) / 2
        narrow += abs(true - middle) <= 0.6 * (risk.high - risk.low) / 2
    # 95 % nominal: 1000 runs stay above 93 % unless it covers less than about 95 %.
    assert inside >= 930
    assert narrow < 900  # the same check rejects an interval of 60 % of the width


@pytest.mark.statistical
def test_the_area_under_the_curve_covers() -> None:
    draw = np.random.default_rng(2)
    true = 0.7602  # P(N(1,1) > N(0,1))
    inside = 0
    for _ in range(400):
        area = area_under_curve(draw.normal(1, 1, 150), draw.normal(0, 1, 150))
        inside += area.low <= true <= area.high
    assert 365 <= inside <= 397


def test_the_area_at_its_ends() -> None:
    perfect = area_under_curve(np.arange(50.0) + 100, np.arange(50.0))
    assert perfect.value == 1.0
    assert perfect.low < 1.0  # a finite sample never makes certain
    same = area_under_curve(np.zeros(50), np.zeros(50))
    assert same.value == 0.5


def test_true_positives_at_one_percent() -> None:
    others = np.arange(200.0)
    found = true_positives_at(np.array([197.5, 199.5, 0.0, 198.5]), others, 0.01)
    # Two strangers of 200 may be accused: those at 198 and 199. Members above 197 count.
    assert found.value == 0.75


@pytest.mark.statistical
def test_the_bound_on_epsilon_is_rarely_above_the_truth() -> None:
    draw = np.random.default_rng(3)
    p, q = 0.5, 0.5 * math.exp(-1.0)
    above = sum(
        epsilon_lower_bound(int(draw.binomial(1000, p)), 1000, int(draw.binomial(1000, q)), 1000) > 1.0
        for _ in range(2000)
    )
    assert above <= 2000 * 0.05
    naive = sum(
        math.log(max(draw.binomial(1000, p), 1) / max(draw.binomial(1000, q), 1)) > 1.0 for _ in range(2000)
    )
    assert naive > 2000 * 0.05  # what the interval is for: the plain ratio errs half of the time


def test_the_bound_on_epsilon_by_hand() -> None:
    low = float(beta.ppf(0.025, 90, 11))
    high = float(beta.ppf(0.975, 11, 90))
    assert epsilon_lower_bound(90, 100, 10, 100) == pytest.approx(math.log(low / high))
    assert epsilon_lower_bound(0, 100, 10, 100) == -math.inf


def test_nothing_is_left_where_everybody_is_guessed_anyway() -> None:
    assert over_control(proportion(10, 10), Estimate.exact(1.0)).value == 0.0
