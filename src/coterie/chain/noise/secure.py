"""Noise for real releases: the exact discrete Laplace on a public grid, from the operating system's randomness."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from coterie.chain.noise import keystream
from coterie.chain.noise.discrete_laplace import LARGEST_SCALE, discrete_laplace
from coterie.chain.noise.keystream import Keystream
from coterie.chain.noise.sampler import NoiseGrid, grids_of_public_scales, same_for_all
from coterie.chain.partition._compiled import compiled, for_reading
from coterie.errors import ParameterError
from coterie.schema.arrays import Flags, Floats, Whole, Words

_KEYED = "AES-256-CTR keyed by the operating system"
NAME = f"exact discrete Laplace on a public grid, {_KEYED}"
GAUSSIAN = f"exact discrete Gaussian on whole numbers, {_KEYED}"  # where the whole is counted in ρ
_FARTHEST = 1 << 61  # steps
_NEAR = 1 << 60  # steps: a whole number of 64 bits holds such a centre and any noise
_PLAIN_EXPONENT = 900  # a multiplication is exact up to here
_PIECE = 1 << 14  # clusters at a time: what is worked on stays in the cache, and no memory is mapped anew


@dataclass(frozen=True, slots=True)
class SecureSampler:
    """A fresh key for every call: no draw can come twice, whatever the caller does."""

    name: str = NAME
    private: bool = True

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: NoiseGrid | None = None) -> Floats:
        return KeyedSampler(keystream.fresh_key()).laplace(centres, scales, stream, grid)

    def uniform_words(self, count: int, stream: str) -> Words:
        return KeyedSampler(keystream.fresh_key()).uniform_words(count, stream)


@dataclass(frozen=True, slots=True)
class KeyedSampler:
    """For engines that see the clusters in pieces: draws are a function of (key, stream, cluster number).

    The key is made for one release and forgotten with it; a caller names each stream once. `first` is the number of the
    first cluster in the pieces that are handed over.
    """

    key: bytes = field(repr=False)
    first: int = 0
    name: str = NAME
    private: bool = True

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: NoiseGrid | None = None) -> Floats:
        exponent: Whole | int
        slack: Floats | float
        if grid is None:
            exponent, slack = grids_of_public_scales(scales)
        else:
            exponent, slack = grid.exponent, grid.slack
        source = Keystream.named(self.key, "laplace", stream)
        released = np.empty(len(centres))
        for begin in range(0, len(centres), _PIECE):
            piece = slice(begin, begin + _PIECE)
            steps_of = exponent if isinstance(exponent, int) else exponent[piece]
            wider = slack if isinstance(slack, float) else slack[piece]
            released[piece] = _noisy(
                centres[piece], scales[piece], steps_of, wider, grid, source, self.first + begin
            )
        return released

    def uniform_words(self, count: int, stream: str) -> Words:
        blocks = Keystream.named(self.key, "words", stream).range(0, self.first // 2, count // 2 + 1)
        return blocks.view("<u8")[self.first % 2 :][:count]


def _noisy(
    centres: Floats,
    scales: Floats,
    exponent: Whole | int,
    slack: Floats | float,
    grid: NoiseGrid | None,
    source: Keystream,
    first: int,
) -> Floats:
    if same_for_all(scales) and grid is not None and not grid.blind and "numba" in sys.modules:
        steps = np.ceil(np.ldexp((scales[:1] + slack) * (1 + 2.0**-51), -grid.exponent)).astype(np.int64)
        if scales[0] > 0 and steps[0] <= LARGEST_SCALE and abs(grid.exponent) <= _PLAIN_EXPONENT:
            noise, released = (
                discrete_laplace(np.broadcast_to(steps, len(centres)), source, first),
                np.empty(len(centres)),
            )
            if _place_all(for_reading(centres), noise, 2.0**grid.exponent, 2.0**-grid.exponent, released):
                return released
    steps = np.ceil(np.ldexp((scales + slack) * (1 + 2.0**-51), -exponent))
    if grid is not None and grid.blind:
        centres, steps = np.where(scales > 0, 0.0, centres), np.minimum(steps, LARGEST_SCALE)
    elif steps.max() > LARGEST_SCALE:
        raise ParameterError(
            "The noise would be wider than the grid of its attribute.", "Give the grid of the right domain."
        )
    whole = np.where(scales > 0, steps, 0.0).astype(np.int64)
    noise = discrete_laplace(whole, source, first)
    return _placed(centres, noise, exponent, whole > 0, bounded=grid is not None)


@compiled
def _place_all(centres: Floats, noise: Whole, step: float, per_step: float, released: Floats) -> bool:
    """`_placed` where all centres have noise and are near, in one pass; False: one is not."""
    near = True
    for i in range(len(centres)):
        steps = np.rint(centres[i] * per_step)
        near &= abs(steps) <= _NEAR
        summed = min(max(np.int64(steps) + noise[i], -_FARTHEST), _FARTHEST)
        released[i] = np.float64(summed) * step
    return near


def _placed(centres: Floats, noise: Whole, exponent: Whole | int, noisy: Flags, *, bounded: bool) -> Floats:
    """Centres rounded to the grid, plus the noise, added as integers; a centre without noise stays as it is.

    `bounded`: all centres lie within 2^60 steps, whatever the data, so a cut at 2^61 is the same cut for all of them.
    Without a domain there must be no cut: it would show on which side of it a centre lies.
    """
    with np.errstate(over="ignore"):
        steps = np.rint(np.ldexp(centres, -exponent))
    near = np.abs(steps) <= _NEAR
    summed = np.where(near, steps, 0.0).astype(np.int64) + noise
    if bounded:
        summed = np.clip(summed, -_FARTHEST, _FARTHEST)
    released = np.where(noisy, np.ldexp(summed.astype(np.float64), exponent), centres)
    exponents = np.broadcast_to(exponent, centres.shape)
    for place in np.flatnonzero(~near & noisy):  # beyond 64 bits: only where no grid was given
        step = Fraction(2) ** int(exponents[place])
        released[place] = float((round(Fraction(float(centres[place])) / step) + int(noise[place])) * step)
    return released
