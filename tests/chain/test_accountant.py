"""The account of a synthetic release: exact, charged before drawing, never above the whole, nothing given back."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.synthesis.accountant import Accountant, Currency, root_below
from coterie.errors import ParameterError

COUNTS = np.array([5, 0, 7])


def account(currency: Currency = Currency.RHO, **more: int) -> Accountant:
    return Accountant(Fraction(1, 2), currency, SeededSampler(1), **more)


def test_parts_add_up_to_the_whole_and_no_further() -> None:
    book = account()
    for number in range(3):
        book.noisy_histogram(COUNTS, Fraction(1, 3), f"reading {number}")
    assert book.left == 0
    with pytest.raises(ParameterError, match="more than is left"):
        book.noisy_choice([1, 2], 2, Fraction(1, 10**9), "one more")


def test_a_reading_that_fails_after_its_charge_is_not_given_back() -> None:
    class Broken(SeededSampler):
        def uniform_words(self, count: int, stream: str) -> np.ndarray:  # type: ignore[override]
            raise RuntimeError("the source of randomness is gone")

    book = Accountant(Fraction(1), Currency.RHO, Broken(1))
    with pytest.raises(RuntimeError):
        book.noisy_histogram(COUNTS, Fraction(2, 3), "reading")
    assert book.left == Fraction(1, 3)


@pytest.mark.parametrize("part", [Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_impossible_parts_are_refused(part: Fraction) -> None:
    with pytest.raises(ParameterError):
        account().noisy_histogram(COUNTS, part, "reading")


def test_no_noise_is_used_twice() -> None:
    book = account()
    book.noisy_histogram(COUNTS, Fraction(1, 4), "reading")
    with pytest.raises(ParameterError, match="already"):
        book.noisy_histogram(COUNTS, Fraction(1, 4), "reading")


@pytest.mark.parametrize("rows", [1, 3])
def test_noise_has_the_width_that_the_proof_asks_for(rows: int) -> None:
    """Histograms: L1 2·c, so Laplace of scale 2c/ε; L2² 2·c², so σ² = 2c²/2ρ."""
    cost, cells = 1 / 8, np.zeros(40_000, dtype=np.int64)
    gauss = account(rows=rows).noisy_histogram(cells, Fraction(1, 4), "a")
    laplace = account(Currency.EPSILON, rows=rows).noisy_histogram(cells, Fraction(1, 4), "a")
    assert math.isclose(gauss.deviation, rows * math.sqrt(1 / cost))
    assert math.isclose(laplace.deviation, math.sqrt(2) * 2 * rows / cost)
    for reading in (gauss, laplace):
        assert reading.values.std() == pytest.approx(
            reading.deviation, rel=0.04
        )  # eight standard errors or so
    book = account(rows=rows)
    assert book.deviation(Fraction(1, 4)) == pytest.approx(gauss.deviation)


def test_choices_cost_eps_squared_over_eight_of_rho() -> None:
    """With ε = √(8ρ) the odds of two scores that differ by 2 are e^(ε/2)."""
    part, runs = Fraction(1, 2), 4000
    picks = [
        Accountant(Fraction(1), Currency.RHO, SeededSampler(seed)).noisy_choice([0, 2], 2, part, "c")
        for seed in range(runs)
    ]
    expected = 1 / (1 + math.exp(-float(root_below(Fraction(4))) / 2))
    assert np.mean(picks) == pytest.approx(expected, abs=5 * 0.5 / math.sqrt(runs))
    assert abs(np.mean(picks) - 1 / (1 + math.exp(-1.4))) > 0.02  # 30 % less would show


def test_roots_are_rounded_down() -> None:
    for value in (Fraction(2), Fraction(1, 3), Fraction(10**9, 7)):
        assert root_below(value) ** 2 <= value < (root_below(value) + Fraction(1, 2**39)) ** 2


def test_real_noise_is_whole_or_on_a_public_grid() -> None:
    secure = SecureSampler()
    gauss = Accountant(Fraction(1), Currency.RHO, secure).noisy_histogram(COUNTS, Fraction(1), "a")
    laplace = Accountant(Fraction(1), Currency.EPSILON, secure).noisy_histogram(COUNTS, Fraction(1), "a")
    assert np.all(gauss.values % 1 == 0)
    assert np.all(laplace.values * 2**7 % 1 == 0)
