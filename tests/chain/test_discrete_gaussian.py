"""The exact samplers of statistics against their formulas; the test must also find a scale that is a little off."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from coterie.chain.noise.discrete_gaussian import ExactSampler
from coterie.chain.noise.keystream import Keystream

DRAWS = 20_000
ALPHA = 1e-6  # of a true sampler failing; the key is fixed, so a run never differs from the last


def sampler(name: str) -> ExactSampler:
    return ExactSampler(Keystream.named(bytes(32), "test", name))


def p_value(drawn: list[int], weight: object) -> float:
    """Chi-square against a law on the whole numbers, tails pooled."""
    reach = max(4 * int(np.std(drawn)) + 3, 3)
    places = np.arange(-60 * reach, 60 * reach + 1)
    law = np.array([weight(int(y)) for y in places])  # type: ignore[operator]
    law /= law.sum()
    edges = [-math.inf]
    mass = 0.0
    for place, part in zip(places, law, strict=True):
        mass += part
        if mass * DRAWS >= 200:
            edges.append(place + 0.5)
            mass = 0.0
    edges[-1] = math.inf
    expected = np.histogram(places, np.array(edges), weights=law)[0] * DRAWS
    found = np.histogram(drawn, np.array(edges))[0]
    return float(chisquare(found, expected * found.sum() / expected.sum()).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(1), Fraction(29, 4), Fraction(900)])
def test_the_discrete_gaussian_has_its_law_and_no_other(variance: Fraction) -> None:
    draw = sampler(f"gaussian {variance}")
    drawn = [draw.gaussian(variance) for _ in range(DRAWS)]

    def law(by: float) -> object:
        return lambda y: math.exp(-(y * y) / (2 * float(variance) * by * by))

    assert p_value(drawn, law(1.0)) > ALPHA
    for wrong in (0.9, 1.1):  # σ ± 10 %
        assert p_value(drawn, law(wrong)) < ALPHA


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(40)])
def test_the_discrete_laplace_of_a_rational_scale_has_its_law_and_no_other(scale: Fraction) -> None:
    draw = sampler(f"laplace {scale}")
    drawn = [draw.laplace(scale) for _ in range(DRAWS)]

    def law(by: float) -> object:
        return lambda y: math.exp(-abs(y) / (float(scale) * by))

    assert p_value(drawn, law(1.0)) > ALPHA
    for wrong in (0.9, 1.1):
        assert p_value(drawn, law(wrong)) < ALPHA


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(17, 5)])
def test_a_coin_has_its_bias(exponent: Fraction) -> None:
    """Within six standard errors: odds below 1e-8."""
    draw = sampler(f"coin {exponent}")
    heads = sum(draw.coin(exponent) for _ in range(DRAWS))
    bias = math.exp(-float(exponent))
    assert abs(heads / DRAWS - bias) <= 6 * math.sqrt(bias * (1 - bias) / DRAWS)


def test_huge_and_tiny_scales_are_drawn_without_a_cut() -> None:
    draw = sampler("huge")
    wide = [draw.laplace(Fraction(2**200)) for _ in range(50)]
    assert max(map(abs, wide)) > 2**198
    assert len({y % 2 for y in wide}) == 2  # not multiples of something: every digit is drawn
    assert max(abs(draw.gaussian(Fraction(4**150))) for _ in range(20)) > 2**148
    assert {draw.laplace(Fraction(1, 10**6)) for _ in range(20)} == {0}
    assert {draw.gaussian(Fraction(1, 10**6)) for _ in range(20)} == {0}


def test_draws_are_a_function_of_the_key() -> None:
    first, second = (
        [draw.gaussian(Fraction(50)) for _ in range(30)] for draw in (sampler("a"), sampler("a"))
    )
    assert first == second
    other = sampler("b")
    assert first != [other.gaussian(Fraction(50)) for _ in range(30)]
