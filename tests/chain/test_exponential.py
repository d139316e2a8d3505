"""The exponential mechanism: its distribution, its exactness, and its two sources of randomness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from coterie.chain.noise import exponential
from coterie.chain.noise.exponential import exponential_mechanism, scaled_exp
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.errors import ParameterError

SCORES = np.array([3.0, 0.5, 4.0, 2.25, 1.0])
DRAWS = 200_000
# Odds that a right sampler fails one of these tests, had the seed not been fixed.
ERROR_RATE = 1e-3


def probabilities(scores: NDArray[np.float64], epsilon: float, sensitivity: float) -> NDArray[np.float64]:
    weights = np.exp(-epsilon * scores / (2 * sensitivity))
    return weights / weights.sum()


def p_value(codes: NDArray[np.int32], expected: NDArray[np.float64]) -> float:
    return float(chisquare(np.bincount(codes, minlength=len(expected)), expected * len(codes)).pvalue)


@dataclass(frozen=True, slots=True)
class ChosenWords:
    """A source whose first word is given, and whose later words are all the same."""

    first: int
    later: int
    name: str = "chosen"
    private: bool = False

    def laplace(self, centres: object, scales: object, stream: str) -> NDArray[np.float64]:
        raise AssertionError("the exponential mechanism draws no Laplace noise")

    def uniform_words(self, count: int, stream: str) -> NDArray[np.uint64]:
        return np.full(count, self.first if stream.endswith("word 0") else self.later, dtype=np.uint64)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "sensitivity"), [("1", 1.0), ("0.1", 0.75), ("5", 2.0)])
def test_frequencies_match_the_formula_and_reject_wrong_ones(epsilon: str, sensitivity: float) -> None:
    exact = Fraction(epsilon)
    scores = np.tile(SCORES, (DRAWS, 1))
    codes = exponential_mechanism(scores, exact, sensitivity, SeededSampler(11), "occupation")
    assert codes.dtype == np.int32
    assert p_value(codes, probabilities(SCORES, float(exact), sensitivity)) > ERROR_RATE
    # ε/2, 2ε (a forgotten factor 2), the sign the other way, and 30 % off in scale are all told apart.
    for wrong in (0.5, 2.0, -1.0, 0.7, 1.3):
        assert p_value(codes, probabilities(SCORES, wrong * float(exact), sensitivity)) < 1e-9


@pytest.mark.statistical
def test_clusters_of_one_call_draw_independently_of_each_other() -> None:
    scores = np.zeros((DRAWS, 3))
    codes = exponential_mechanism(scores, Fraction(1), 1.0, SeededSampler(5), "x")
    pairs = codes[:-1:2] * 3 + codes[1::2]
    assert p_value(pairs.astype(np.int32), np.full(9, 1 / 9)) > ERROR_RATE


@pytest.mark.statistical
def test_the_secure_source_draws_from_the_same_distribution() -> None:
    # Not seeded, so the bound is far out: a right sampler fails once in 10^9 runs, a wrong factor always.
    scores = np.tile(SCORES, (DRAWS, 1))
    codes = exponential_mechanism(scores, Fraction(1), 1.0, SecureSampler(), "x")
    assert p_value(codes, probabilities(SCORES, 1.0, 1.0)) > 1e-9
    assert p_value(codes, probabilities(SCORES, 2.0, 1.0)) < 1e-30


def test_a_seeded_draw_is_a_function_of_seed_attribute_and_cluster_number() -> None:
    scores = np.random.default_rng(0).random((1000, 6)) * 4

    def draw(rows: int, seed: int = 1, stream: str = "a") -> NDArray[np.int32]:
        return exponential_mechanism(scores[:rows], Fraction(1), 1.0, SeededSampler(seed), stream)

    assert (draw(1000) == draw(1000)).all()
    assert (draw(10) == draw(1000)[:10]).all()
    assert (draw(1000) != draw(1000, seed=2)).any()
    assert (draw(1000) != draw(1000, stream="b")).any()


def test_clusters_that_share_scores_draw_as_if_each_had_its_own() -> None:
    scores = np.random.default_rng(0).random((7, 6)) * 4
    line = np.random.default_rng(1).integers(0, 7, 500)
    each = exponential_mechanism(scores[line], Fraction(1), 1.0, SeededSampler(1), "a")
    shared = exponential_mechanism(scores, Fraction(1), 1.0, SeededSampler(1), "a", line)
    assert (shared == each).all()


grid_scores = st.lists(st.integers(0, 2**34).map(lambda number: number * 2.0**-30), min_size=2, max_size=8)


@settings(deadline=None)
@given(grid_scores, st.fractions("0.01", "20", max_denominator=1000), st.integers(0, 2**64 - 1))
def test_exact_and_double_arithmetic_agree_wherever_double_is_sure(
    scores: list[float], epsilon: Fraction, word: int
) -> None:
    row = np.array([scores])
    factor = epsilon / 2
    words = np.array([word], dtype=np.uint64)
    quick, doubtful = exponential._in_double_precision(row, np.zeros(1, np.int64), float(factor), words)
    bits = exponential._bits(ChosenWords(word, 12345), 1, "x", (0,), word)
    exact = exponential._exactly(row[0], factor, bits)
    assert doubtful[0] or quick[0] == exact


def test_a_boundary_within_reach_of_rounding_is_decided_by_further_bits() -> None:
    """Two equal scores: U = 1/2 is the boundary. The first word alone cannot tell; the later ones do."""
    scores = np.zeros((1, 2))
    below = ChosenWords(2**63 - 1, 2**64 - 2)
    above = ChosenWords(2**63, 1)
    assert exponential_mechanism(scores, Fraction(1), 1.0, below, "x").tolist() == [0]
    assert exponential_mechanism(scores, Fraction(1), 1.0, above, "x").tolist() == [1]


def test_a_hopeless_category_keeps_its_tiny_probability() -> None:
    """Pure ε-DP forbids a probability of 0: exp(-50) is far below 2^-53, yet some U reaches it."""
    scores = np.array([[100.0, 0.0]])  # ε = 1, s = 1: weights exp(-50) and 1
    boundary = math.exp(-50)  # about 2^-72.1, so the first word is 0 and the second decides
    inside = ChosenWords(0, int(boundary * 2.0**128 * 0.999))
    outside = ChosenWords(0, int(boundary * 2.0**128 * 1.001))
    assert exponential_mechanism(scores, Fraction(1), 1.0, inside, "x").tolist() == [0]
    assert exponential_mechanism(scores, Fraction(1), 1.0, outside, "x").tolist() == [1]


@pytest.mark.parametrize("epsilon", [Fraction(10**200), Fraction(1, 10**200)])
def test_extreme_epsilons_work(epsilon: Fraction) -> None:
    codes = exponential_mechanism(np.tile([1.0, 0.0, 2.0], (1000, 1)), epsilon, 0.5, SeededSampler(1), "x")
    assert set(codes.tolist()) == ({1} if epsilon > 1 else {0, 1, 2})


def test_one_category_needs_no_choice() -> None:
    assert exponential_mechanism(np.ones((3, 1)), Fraction(1), 0.0, SeededSampler(1), "x").tolist() == [
        0,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity", "message"),
    [
        (np.zeros((2, 0)), Fraction(1), 1.0, "empty"),
        (np.array([[0.0, np.nan]]), Fraction(1), 1.0, "not finite"),
        (np.array([[0.0, np.inf]]), Fraction(1), 1.0, "not finite"),
        (np.zeros((1, 2)), Fraction(0), 1.0, "epsilon"),
        (np.zeros((1, 2)), Fraction(1), 0.0, "sensitivity"),
        (np.zeros((1, 2)), Fraction(1), math.nan, "sensitivity"),
        (np.zeros((1, 2)), Fraction(1), math.inf, "sensitivity"),
    ],
)
def test_wrong_input_is_refused(
    scores: NDArray[np.float64], epsilon: Fraction, sensitivity: float, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        exponential_mechanism(scores, epsilon, sensitivity, SeededSampler(1), "x")


def test_the_exact_choice_works_out_equal_scores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among 19,900 pairs of attributes two in five choices are made exactly; scores are small whole numbers."""
    worked_out: list[Fraction] = []

    def counted(exponent: Fraction, bits: int) -> int:
        worked_out.append(exponent)
        return scaled_exp(exponent, bits)

    monkeypatch.setattr(exponential, "scaled_exp", counted)
    scores = np.arange(4000, dtype=np.float64) % 7
    chosen = exponential._exactly(scores, Fraction(1, 3), iter([(1 << 127, 128)]))
    assert len(worked_out) == 7
    weights = np.exp(-scores / 3)
    assert chosen == np.searchsorted(np.cumsum(weights) / weights.sum(), 0.5, side="right")
