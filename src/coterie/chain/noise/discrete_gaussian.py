"""Discrete Laplace and discrete Gaussian of any rational size, drawn exactly: whole numbers of any length, nothing rounded.

Canonne, Kamath and Steinke (2020), *The Discrete Gaussian for Differential Privacy*: Algorithm 1 is `coin`, Algorithm 2
`laplace`, Algorithm 3 `gaussian`. The proof is in docs/guarantees/discrete-gaussian.md. This is for the few numbers of a
release of statistics; rows with many clusters draw from `discrete_laplace`, which is faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

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
