"""Discrete Gaussian draws for whole arrays: the right distribution, and no other; every coin exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from coterie.chain.noise import discrete_gaussian as module
from coterie.chain.noise.discrete_gaussian import whole_gaussian, whole_laplace
from coterie.chain.noise.exponential import scaled_exp
from coterie.chain.noise.secure import KeyedSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.errors import ParameterError

DRAWS = 60_000
REJECTED = 1e-6  # how often the right answer fails


def _statistic(drawn: np.ndarray, variance: float, *, laplace: bool = False) -> tuple[float, int]:
    """Pearson's chi-squared over all values that are expected five times or more."""
    reach = int(12 * math.sqrt(variance)) + 3
    values = np.arange(-reach, reach + 1)
    power = np.abs(values) / math.sqrt(variance) if laplace else values**2 / (2 * variance)
    chance = np.exp(-power)
    expected = len(drawn) * chance / chance.sum()
    counts = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=len(values))
    kept = expected >= 5
    rest = expected[~kept].sum()
    found = float(((counts[kept] - expected[kept]) ** 2 / expected[kept]).sum())
    if rest >= 5:
        found += float((counts[~kept].sum() - rest) ** 2 / rest)
    return found, int(kept.sum()) - 1 + (rest >= 5)


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(9, 4), Fraction(1000, 7)])
def test_the_distribution_is_right_and_ten_percent_off_is_not(variance: Fraction) -> None:
    drawn = whole_gaussian(DRAWS, variance, SeededSampler(5), "test")
    found, degrees = _statistic(drawn, float(variance))
    assert chi2.sf(found, degrees) > REJECTED
    for wrong in (0.9, 1.1):
        found, degrees = _statistic(drawn, float(variance) * wrong**2)
        assert chi2.sf(found, degrees) < REJECTED


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(10**13 + 1, 10**12)])
def test_laplace_draws_of_any_rational_scale_are_right_and_ten_percent_off_is_not(scale: Fraction) -> None:
    for sampler in (SeededSampler(5), KeyedSampler(bytes(32))):
        drawn = whole_laplace(DRAWS, scale, sampler, "test")
        found, degrees = _statistic(drawn, float(scale) ** 2, laplace=True)
        assert chi2.sf(found, degrees) > REJECTED
        for wrong in (0.9, 1.1):
            found, degrees = _statistic(drawn, (wrong * float(scale)) ** 2, laplace=True)
            assert chi2.sf(found, degrees) < REJECTED


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**60)])
def test_a_laplace_scale_that_no_count_survives_is_refused(scale: Fraction) -> None:
    with pytest.raises(ParameterError):
        whole_laplace(1, scale, SeededSampler(1), "test")


def test_real_releases_draw_by_the_same_algorithm() -> None:
    drawn = whole_gaussian(DRAWS, Fraction(25), KeyedSampler(bytes(32)), "test")
    found, degrees = _statistic(drawn, 25.0)
    assert chi2.sf(found, degrees) > REJECTED
    assert np.array_equal(drawn, whole_gaussian(DRAWS, Fraction(25), KeyedSampler(bytes(32)), "test"))


def test_coins_that_doubles_cannot_decide_fall_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MARGIN", 2.0)  # every coin by whole-number arithmetic
    drawn = whole_gaussian(3000, Fraction(4), SeededSampler(1), "test")
    found, degrees = _statistic(drawn, 4.0)
    assert chi2.sf(found, degrees) > REJECTED


def test_an_exact_coin_agrees_with_its_probability() -> None:
    words = module._Words(SeededSampler(0), "coin")
    edge = math.exp(-0.5)
    below, above = int((edge - 1e-12) * 2**64), int((edge + 1e-12) * 2**64)
    assert words.lazy(below, 64).below_exp(Fraction(1, 2)) is True
    assert words.lazy(above, 64).below_exp(Fraction(1, 2)) is False


@pytest.mark.parametrize("scale", [1, 7, 1000, 2**40])
def test_sizes_are_those_of_exact_arithmetic(scale: int) -> None:
    """Also one unit beside every boundary, where doubles cannot decide, and where the word is all zeros."""
    words = module._Words(SeededSampler(0), "sizes")
    for k in (1, 2, scale // 3 + 1, 5 * scale, 40 * scale):
        edge = scaled_exp(Fraction(k, scale), 64)
        for word in (edge - 3, edge + 3):
            size = words._exact_size(word, scale, 0, 60 * scale)
            assert Fraction(word) / 2**64 < Fraction(scaled_exp(Fraction(size, scale), 200) + 2, 2**200)
            assert Fraction(word + 1) / 2**64 > Fraction(
                scaled_exp(Fraction(size + 1, scale), 200) - 2, 2**200
            )
    assert words._exact_size(0, scale, 0, 10 * scale) >= 44 * scale  # exp(-44.4) is 2^-64


def test_doubles_and_whole_numbers_give_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where doubles decide, whole-number arithmetic says the same; and it is asked where they do not."""
    asked = []
    exact = module.LazyUniform.below_exp
    monkeypatch.setattr(module.LazyUniform, "below_exp", lambda self, e: asked.append(e) or exact(self, e))
    quick = whole_gaussian(2000, Fraction(4**20), SeededSampler(3), "test")
    few = len(asked)
    monkeypatch.setattr(module, "_MARGIN", 2.0)
    assert np.array_equal(quick, whole_gaussian(2000, Fraction(4**20), SeededSampler(3), "test"))
    assert few < 10 < 2000 < len(asked)


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(2**100)])
def test_impossible_variances_are_refused(variance: Fraction) -> None:
    with pytest.raises(ParameterError):
        whole_gaussian(1, variance, SeededSampler(1), "test")
