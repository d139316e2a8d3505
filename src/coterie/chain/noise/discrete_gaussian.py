"""Discrete Laplace and discrete Gaussian of any rational size, drawn exactly: whole numbers of any length, nothing rounded.

Canonne, Kamath and Steinke (2020), *The Discrete Gaussian for Differential Privacy*: Algorithm 1 is `coin`, Algorithm 2
`laplace`, Algorithm 3 `gaussian`. The proof is in docs/guarantees/discrete-gaussian.md. This is for the few numbers of a
release of statistics; rows with many clusters draw from `discrete_laplace`, which is faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from coterie.chain.noise.exponential import scaled_exp
from coterie.chain.noise.sampler import Sampler
from coterie.errors import ParameterError
from coterie.schema.arrays import Flags, Floats, Whole, Words

if TYPE_CHECKING:  # it loads a library of ciphers
    from coterie.chain.noise.keystream import Keystream

_BLOCKS = 64  # of 16 bytes, fetched at a time


class ExactSampler:
    """Draws from one key; the draws of one object are independent of each other."""

    def __init__(self, source: Keystream) -> None:
        self._words = _words(source)
        self._pool, self._left = 0, 0

    def laplace(self, scale: Fraction) -> int:
        """Pr(y) ∝ exp(-|y|/scale) over the whole numbers (Algorithm 2)."""
        t, s = scale.numerator, scale.denominator
        while True:
            first = self._below(t)
            if not self._small_coin(first, t):
                continue
            turns = 0
            while self._small_coin(1, 1):
                turns += 1
            size = (first + t * turns) // s
            negative = self._below(2)
            if not (negative and size == 0):  # zero would otherwise come twice
                return -size if negative else size

    def gaussian(self, variance: Fraction) -> int:
        """Pr(y) ∝ exp(-y²/(2·variance)) over the whole numbers (Algorithm 3)."""
        t = math.isqrt(variance.numerator // variance.denominator) + 1  # ⌊σ⌋ + 1
        while True:
            drawn = self.laplace(Fraction(t))
            if self.coin((abs(drawn) - variance / t) ** 2 / (2 * variance)):
                return drawn

    def coin(self, exponent: Fraction) -> bool:
        """True with probability exp(-exponent) (Algorithm 1)."""
        for _ in range(exponent.numerator // exponent.denominator):
            if not self._small_coin(1, 1):
                return False
        return self._small_coin(exponent.numerator % exponent.denominator, exponent.denominator)

    def _small_coin(self, p: int, q: int) -> bool:
        """True with probability exp(-p/q), p ≤ q: the first failure among coins of bias p/(qk), k = 1, 2, …, at an odd k."""
        k = 1
        while self._below(q * k) < p:
            k += 1
        return k % 2 == 1

    def _below(self, limit: int) -> int:
        """Uniform over 0 … limit-1, by rejection."""
        bits = (limit - 1).bit_length()
        while True:
            while self._left < bits:
                self._pool |= next(self._words) << self._left
                self._left += 64
            value = self._pool & ((1 << bits) - 1)
            self._pool >>= bits
            self._left -= bits
            if value < limit:
                return value


def _words(source: Keystream) -> Iterator[int]:
    first = 0
    while True:
        yield from source.range(0, first, _BLOCKS).view("<u8").tolist()
        first += _BLOCKS


# Many discrete Gaussians of one variance, drawn exactly: Canonne, Kamath and Steinke (2020), Algorithm 3, for whole arrays.
#
# A proposal is a discrete Laplace of scale t = ⌊σ⌋ + 1 (Algorithm 2), kept with probability exp(-(|y| - σ²/t)²/2σ²). Each
# coin of probability exp(-γ) compares a uniform 64-bit word with exp(-γ) in double precision. Where the word is so near that
# rounding might decide, further bits are drawn and compared in whole-number arithmetic. So every coin falls as it would in
# exact arithmetic, and Pr(y) ∝ exp(-y²/2σ²) holds to the last bit (docs/guarantees/discrete-gaussian.md).

LARGEST_DEVIATION = 1 << 40  # σ above which nothing is left of any count
_MARGIN = 2.0**-44  # exp in doubles is off by far less, for every γ that is not rejected at once
_SPARE = 1.4  # proposals per draw that is still wanted: about three in four are kept


def whole_gaussian(count: int, variance: Fraction, sampler: Sampler, stream: str) -> Whole:
    """`count` independent draws; a function of the sampler's words alone, so a seeded sampler repeats them."""
    if variance <= 0 or variance > LARGEST_DEVIATION**2:
        raise ParameterError(
            "The noise would be wider than any count.", "Raise epsilon: nothing of the data would be left."
        )
    scale = math.isqrt(variance.numerator // variance.denominator) + 1
    drawn = np.empty(0, dtype=np.int64)
    attempt = 0
    while len(drawn) < count:
        wanted = int((count - len(drawn)) * _SPARE) + 16
        name = f"{stream}, gaussian {attempt}"
        drawn = np.concatenate([drawn, _kept(wanted, scale, variance, sampler, name)])
        attempt += 1
    return drawn[:count]


def _kept(count: int, scale: int, variance: Fraction, sampler: Sampler, stream: str) -> Whole:
    """Proposals that both algorithms keep, in the order of their words."""
    words = _Words(sampler, stream)
    first = words.below(count, scale)
    centre = variance / scale
    first = first[words.coins(first / scale, lambda row: Fraction(int(first[row]), scale), len(first))]
    turns = np.zeros(len(first), dtype=np.int64)
    open_ = np.arange(len(first))
    while len(open_):
        went_on = words.coins(np.ones(len(open_)), lambda _: Fraction(1), len(open_))
        open_ = open_[went_on]
        turns[open_] += 1
    size = first + scale * turns
    negative = (words.uniform(len(size)) & np.uint64(1)).astype(bool)
    once = ~(negative & (size == 0))  # zero would otherwise come twice
    size, negative = size[once], negative[once]
    exponent = (size - float(centre)) ** 2 / (2 * float(variance))
    kept = words.coins(exponent, lambda row: (int(size[row]) - centre) ** 2 / (2 * variance), len(size))
    return np.asarray(np.where(negative, -size, size)[kept])


class _Words:
    """Uniform words under ever new names, so that none is used twice."""

    def __init__(self, sampler: Sampler, stream: str) -> None:
        self._sampler, self._stream, self._used = sampler, stream, 0

    def uniform(self, count: int) -> Words:
        self._used += 1
        return self._sampler.uniform_words(count, f"{self._stream}, words {self._used}")

    def below(self, count: int, limit: int) -> Whole:
        """Uniform over 0 … limit-1: the top bits of a word, those that are too large thrown away."""
        if limit == 1:
            return np.zeros(count, dtype=np.int64)
        shift = np.uint64(64 - (limit - 1).bit_length())
        values = (self.uniform(count) >> shift).astype(np.int64)
        return np.asarray(values[values < limit])

    def coins(self, exponents: Floats, exact: Callable[[int], Fraction], count: int) -> Flags:
        """Each True with probability exp(-exponent); `exact` is asked only where doubles cannot decide."""
        words = self.uniform(count)
        uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        chance = np.exp(-exponents)
        heads = uniform < chance
        for row in np.flatnonzero(np.abs(uniform - chance) <= _MARGIN):
            heads[row] = self._exact_coin(int(words[row]), exact(int(row)))
        return np.asarray(heads)

    def _exact_coin(self, word: int, exponent: Fraction) -> bool:
        """U < exp(-γ), with as many bits of U as it takes; `word` holds its first 64."""
        value, bits = word, 64
        while True:
            edge = scaled_exp(exponent, bits)  # off by less than 2
            if value + 1 <= edge - 2:
                return True
            if value >= edge + 2:
                return False
            value, bits = value << 64 | int(self.uniform(1)[0]), bits + 64
