"""The one small interface behind which noise is drawn, and the public grid on which secure noise lives."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from coterie.chain.partition.clustering import ClusterShape
from coterie.errors import ParameterError
from coterie.schema.arrays import Floats, Whole, Words

# Noise in floating point leaks its centre through the holes between doubles (Mironov 2012). Here a centre is rounded to a
# whole multiple of a power of two that follows from the declared domain, ε and the sizes of the clusters alone. The noise
# is a whole multiple too: what can come out is the same for both neighbours. Rounding moves neighbours apart by up to a
# step, and double precision by a little more; `slack` widens every scale by enough for all clusters together.
# docs/guarantees/discrete-laplace.md has the proof, under the names used here.

_BELOW_WIDTH = 48  # steps: 2^48 or more to a domain's width …
_MOST_STEPS = 60  # … unless its bounds would then lie more than 2^60 steps from 0
_WIDEST_SCALE = 52  # … or the noise's scale be more than 2^52 steps
_WIDEST_WHOLE = 55  # whole numbers: 2^55 is the widest scale that the sampler draws in steps of 1
_LOWEST = -1000  # doubles go down to 2^-1074
# Of ε: the least for which the slack of a grid without a domain is proved to pay.
SMALLEST_PART = Fraction(1, 2**15)
_UNEQUAL = 4  # no two scales of one release differ by more, where a promise adds clusters up


@dataclass(frozen=True, slots=True)
class NoiseGrid:
    """Multiples of 2^exponent; every scale grows by `slack`. A `blind` grid has all centres at 0: noise and nothing else."""

    exponent: int
    slack: float
    blind: bool = False


def public_grid(lower: float, upper: float, epsilon: Fraction, shape: ClusterShape) -> NoiseGrid:
    """The grid for centroids in [lower, upper], one for each cluster."""
    clusters, largest, smallest = shape.clusters, shape.largest, shape.smallest
    width, bound = Fraction(upper) - Fraction(lower), max(abs(Fraction(lower)), abs(Fraction(upper)))
    moved = width / smallest + 4 * largest * bound / 2**53
    widest = max(width, 2 * clusters * moved) / epsilon  # no method's scale is above it
    exponent = max(
        _exponent(width) - _BELOW_WIDTH,
        _exponent(bound) - _MOST_STEPS,
        _exponent(widest) - _WIDEST_SCALE,
        _LOWEST,
    )
    step = Fraction(2) ** exponent
    # τ: how much farther apart two neighbours' centres may come.
    apart = step + 2 * (largest + 8) * bound / 2**53
    # With scales in a ratio r, slack r·q·τ/ε pays: the proof is in docs/guarantees/discrete-laplace.md.
    ratio = max(Fraction(_UNEQUAL), Fraction(largest, smallest))
    slack = ratio * clusters * apart / epsilon
    if slack > step * 2**55:
        # ε is so small that the noise drowns the domain many million times over: publish the noise alone.
        return NoiseGrid(_exponent(bound) + 2, 0.0, blind=True)
    return NoiseGrid(exponent, math.nextafter(float(slack), math.inf))


def whole_grid(farthest: int, scale: float) -> NoiseGrid:
    """The grid for whole numbers from -`farthest` to `farthest`, all with noise of one public scale.

    They lie on it as they are: nothing is rounded, so no slack is due, at any ε.
    """
    reach = _exponent(Fraction(scale))
    if farthest > 2**_MOST_STEPS or reach > _WIDEST_WHOLE:
        # No step of at most 1 holds all of it: publish the noise alone.
        return NoiseGrid(0, 0.0, blind=True)
    return NoiseGrid(min(0, max(reach - 45, _exponent(Fraction(farthest)) - _MOST_STEPS)), 0.0)


def grids_of_public_scales(scales: Floats) -> tuple[Whole, Floats]:
    """A grid for each draw, 2^44 steps or more to its scale, and the slack. Only for scales that are public themselves.

    q roundings cost up to q·2^-44 of privacy loss in all; the slack pays for it at every ε from `SMALLEST_PART` up, and
    whoever draws for a smaller one must refuse to (docs/guarantees/discrete-laplace.md).
    """
    _, binary = np.frexp(scales)
    exponents = np.maximum(binary.astype(np.int64) - 45, _LOWEST)
    return exponents, np.ldexp(float(len(scales)) * 2.0**16, exponents)


def _exponent(value: Fraction) -> int:
    """The smallest e with value ≤ 2^e; for 0 the lowest."""
    if value == 0:
        return _LOWEST
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if value <= Fraction(2) ** e else e + 1


class Sampler(Protocol):
    """Where randomness comes from. `stream` names the attribute, so that draws never overlap."""

    @property
    def name(self) -> str: ...

    @property
    def private(self) -> bool:
        """Whether nobody can repeat the draws."""
        ...

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: NoiseGrid | None = None) -> Floats:
        """centres + Laplace(scales), one independent draw each; a scale of 0 leaves the centre as it is.

        Scales that depend on the data need a `grid` that does not (`public_grid`); without one it follows the scales.
        """
        ...

    def uniform_words(self, count: int, stream: str) -> Words:
        """Independent uniform 64-bit words."""
        ...


def same_for_all(numbers: Floats) -> bool:
    """Whether it is one number that stands for many: then it is worked on once."""
    return numbers.strides == (0,) and len(numbers) > 0


def laplace_scales(sensitivities: Floats, epsilon: Fraction | Floats) -> Floats:
    """b = Δ/ε (Soria-Comas et al., Prop. 1, Sánchez et al. 2016, §2.2), rounded up so that rounding can only add noise.

    The quotient of doubles is within three half-units in the last place of the exact one; 2^-50 is above that. An array
    of ε holds the doubles nearest to the exact ones, as `float` gives them.
    """
    if same_for_all(sensitivities) and isinstance(epsilon, Fraction):
        return np.broadcast_to(laplace_scales(sensitivities[:1].copy(), epsilon), len(sensitivities))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        divisor = float(epsilon) if isinstance(epsilon, Fraction) else epsilon
        scales = np.asarray(sensitivities / divisor * (1.0 + 2.0**-50), dtype=np.float64)
    if not np.isfinite(scales).all():
        raise ParameterError(
            "An attribute's share of epsilon is so small that its noise would be infinite.",
            "Raise epsilon or the attribute's weight.",
        )
    return scales


def shuffled_order(sampler: Sampler, count: int, stream: str = "coterie: order of the rows") -> Whole:
    """A uniform permutation: sort by random words. Two equal words (odds below n²/2^65) draw anew."""
    for attempt in itertools.count():  # a stream of its own each time: seeded streams repeat themselves
        words = sampler.uniform_words(count, f"{stream}, attempt {attempt + 1}" if attempt else stream)
        order = _sorted_places(words)
        if order is not None:
            return order
    raise AssertionError("some attempt succeeds")


def _sorted_places(words: Words) -> Whole | None:
    """`argsort` of distinct words; None if two are equal.

    A word whose low bits give way to its place sorts without an index beside it, twenty times as fast. Where the bits
    that are left are equal, the whole words decide.
    """
    low = np.uint64(max(len(words) - 1, 0).bit_length())
    places = np.uint64((1 << int(low)) - 1)
    high = words & ~places
    high |= np.arange(len(words), dtype=np.uint64)
    high.sort()
    order: Whole = (high & places).view(np.int64)
    high >>= low
    same = np.flatnonzero(high[1:] == high[:-1])
    alike = np.union1d(same, same + 1)
    whole = words[order[alike]]
    settled = np.argsort(whole, kind="stable")
    order[alike] = order[alike][settled]
    return None if np.any(np.diff(whole[settled]) == 0) else order
