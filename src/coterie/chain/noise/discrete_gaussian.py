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

from coterie.chain.noise.exponential import LazyUniform
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
# A proposal is a discrete Laplace of scale t = ⌊σ⌋ + 1: its size is ⌊-t·ln U⌋, k or more with probability exp(-k/t), and its
# sign is fair. It is kept with probability exp(-(|y| - σ²/t)²/2σ²). Both compare a uniform U with exp(-γ) in double
# precision. Where the first bits of U are so near that rounding might decide, further bits are drawn and compared in
# whole-number arithmetic. So all falls as it would in exact arithmetic, and Pr(y) ∝ exp(-y²/2σ²) holds to the last bit
# (docs/guarantees/discrete-gaussian.md).

LARGEST_DEVIATION = 1 << 40  # σ above which nothing is left of any count
_MARGIN = 2.0**-44  # exp in doubles is off by far less, for every γ that is not rejected at once
_AT_ONCE = 1 << 15  # proposals, so that all that is known of them stays in the processor's cache
_SPARE = 1.4  # proposals per draw that is still wanted: about three in four are kept
_ROUNDED = 2.0**-5  # of the margin: how far a logarithm in doubles may be off, and the last bit of a word


def whole_gaussian(count: int, variance: Fraction, sampler: Sampler, stream: str) -> Whole:
    """`count` independent draws; a function of the sampler's words alone, so a seeded sampler repeats them."""
    if variance <= 0 or variance > LARGEST_DEVIATION**2:
        raise ParameterError(
            "The noise would be wider than any count.", "Raise epsilon: nothing of the data would be left."
        )
    scale = math.isqrt(variance.numerator // variance.denominator) + 1
    parts, left = [np.empty(0, dtype=np.int64)], count
    while left > 0:
        wanted = min(int(left * _SPARE) + 16, _AT_ONCE)
        parts.append(_kept(wanted, scale, variance, sampler, f"{stream}, gaussian {len(parts)}"))
        left -= len(parts[-1])
    return np.concatenate(parts)[:count]


_LARGEST_SCALE = 1 << 40


def whole_laplace(count: int, scale: Fraction, sampler: Sampler, stream: str) -> Whole:
    """`count` independent draws with Pr(y) ∝ exp(-|y|/scale), from the sampler's words alone.

    With scale t/s: ⌊size/s⌋ is k or more exactly where the size is k·s or more, so with probability exp(-k·s/t). The sign is
    fair, and zero with a minus is drawn anew, as it would otherwise come twice.
    """
    if scale.numerator > _LARGEST_SCALE:  # upwards: more noise, never less
        scale = Fraction(math.ceil(scale * 2**16), 2**16)
    if scale <= 0 or scale.numerator > LARGEST_DEVIATION << 16:
        raise ParameterError(
            "The noise would be wider than any count.", "Raise epsilon: nothing of the data would be left."
        )
    parts, left = [np.empty(0, dtype=np.int64)], count
    while left > 0:
        wanted = min(2 * left + 16, _AT_ONCE)
        words = _Words(sampler, f"{stream}, laplace {len(parts)}")
        size = words.sizes(wanted, scale.numerator) // scale.denominator
        negative = (words.uniform(wanted) & np.uint64(1)).astype(bool)
        parts.append(np.where(negative, -size, size)[~(negative & (size == 0))])
        left -= len(parts[-1])
    return np.concatenate(parts)[:count]


def _kept(count: int, scale: int, variance: Fraction, sampler: Sampler, stream: str) -> Whole:
    """Proposals that are kept, in the order of their words."""
    words = _Words(sampler, stream)
    size, centre = words.sizes(count, scale), variance / scale
    exponent = size.astype(np.float64) - float(centre)
    exponent *= exponent
    exponent /= 2 * float(variance)
    kept, negative = words.coins(exponent, lambda row: (int(size[row]) - centre) ** 2 / (2 * variance))
    kept &= ~(negative & (size == 0))  # zero would otherwise come twice
    return np.where(negative, -size, size)[kept]


class _Words:
    """Uniform words under ever new names, so that none is used twice."""

    def __init__(self, sampler: Sampler, stream: str) -> None:
        self._sampler, self._stream, self._used = sampler, stream, 0

    def uniform(self, count: int) -> Words:
        self._used += 1
        return self._sampler.uniform_words(count, f"{self._stream}, words {self._used}")

    def lazy(self, value: int, bits: int) -> LazyUniform:
        return LazyUniform(value, bits, iter(lambda: int(self.uniform(1)[0]), None))

    def sizes(self, count: int, scale: int) -> Whole:
        """⌊-scale·ln U⌋: k or more with probability exp(-k/scale)."""
        words = self.uniform(count)
        uniform = _fractions(words)
        place = np.log(uniform)
        place *= -scale
        size = np.floor(place)
        np.divide(scale / 4, uniform, out=uniform)
        uniform += place
        uniform *= _MARGIN * _ROUNDED  # by how much `place` may be off
        place -= size
        found = size.astype(np.int64)
        for row in np.flatnonzero((place <= uniform) | (place >= 1 - uniform)):
            reach = int(min(uniform[row], 2.0**62)) + 2
            low, high = max(int(found[row]) - reach, 0), min(int(found[row]) + reach, 45 * scale)
            found[row] = self._exact_size(
                int(words[row]), scale, low, high
            )  # 64 bits of U are above exp(-45)
        return found

    def coins(self, exponents: Floats, exact: Callable[[int], Fraction]) -> tuple[Flags, Flags]:
        """Each True with probability exp(-exponent), and beside it a fair coin: the last bit, not used by the first.

        `exact` is asked only where doubles cannot decide.
        """
        words = self.uniform(len(exponents))
        chance = np.exp(-exponents)
        uniform = _fractions(words)
        uniform -= chance
        heads = uniform < 0
        for row in np.flatnonzero(np.abs(uniform) <= _MARGIN):
            heads[row] = self.lazy(int(words[row]) >> 1, 63).below_exp(exact(int(row)))
        return heads, (words & np.uint64(1)).astype(bool)

    def _exact_size(self, word: int, scale: int, low: int, high: int) -> int:
        """The largest k with U < exp(-k/scale), expected from `low` to `high`; `word` holds the first 64 bits of U."""
        uniform = self.lazy(word, 64)
        while uniform.below_exp(Fraction(high + 1, scale)):  # the first 53 bits were all zero
            low, high = high + 1, 2 * high + 2
        while low < high:
            middle = (low + high + 1) // 2
            if uniform.below_exp(Fraction(middle, scale)):
                low = middle
            else:
                high = middle - 1
        return low


def _fractions(words: Words) -> Floats:
    """The first 53 bits of each, and half a bit, so that none is 0."""
    found = (words >> np.uint64(11)).astype(np.float64)
    found += 0.5
    found *= 2.0**-53
    return found
