"""The public grid that a column's values are put on before anything is added up: whole numbers have exact sums.

The grid follows from the declared attribute alone. Whole numbers and dates have step 1, `decimals: d` has step 10^-d;
any other column has a step of at most 2^-31 of its domain's width (coarser only where doubles themselves are).
Each value moves to its nearest step by itself, and is then cut to the steps inside the domain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.schema.attributes import Attribute, AttributeType

Places = NDArray[np.int64]
_BELOW_WIDTH = 32  # the step is 2^-32 of the power of two above the width …
_MOST_STEPS = 60  # … unless the bounds would lie more than 2^60 steps from 0
_EXACT = 2**52
_WHOLE = (AttributeType.INTEGER, AttributeType.DATE, AttributeType.TIMESTAMP)


@dataclass(frozen=True)
class ValueGrid:
    """The values low·step … high·step; step is 10^-decimals, or 2^exponent where no decimals are declared."""

    low: int
    high: int
    exponent: int = 0
    decimals: int | None = None

    @classmethod
    def of(cls, lower: float, upper: float, decimals: int | None = None) -> ValueGrid:
        if decimals is not None:
            low, high = _inside(lower, upper, Fraction(1, 10**decimals))
            if low < high and max(-low, high) <= _EXACT:
                return cls(low, high, decimals=decimals)
        farthest = max(abs(lower), abs(upper))
        width = float(Fraction(upper) - Fraction(lower))
        exponent = max(math.frexp(width)[1] - _BELOW_WIDTH, math.frexp(farthest)[1] - _MOST_STEPS, -1000)
        return cls(*_inside(lower, upper, Fraction(2) ** exponent), exponent=exponent)

    @classmethod
    def of_attribute(cls, attribute: Attribute) -> ValueGrid:
        domain = attribute.bounds()
        decimals = 0 if attribute.type in _WHOLE else attribute.decimals
        return cls.of(domain.lower, domain.upper, decimals)

    @cached_property
    def step(self) -> Fraction:
        return Fraction(2) ** self.exponent if self.decimals is None else Fraction(1, 10**self.decimals)

    @property
    def lower(self) -> float:
        return float(self.low * self.step)

    @property
    def upper(self) -> float:
        return float(self.high * self.step)

    @property
    def steps(self) -> int:
        return self.high - self.low

    @property
    def width(self) -> float:
        return float(self.steps * self.step)

    @property
    def middle(self) -> float:
        """The middle, which lies on the grid or half a step beside it: sums count in half steps."""
        return float((self.low + self.high) * self.step / 2)

    def half_steps(self, value: float) -> int:
        """A public number, such as a centre, as the nearest whole number of half steps."""
        return round(Fraction(value) * 2 / self.step)

    def places(self, values: Floats) -> Places:
        """How many steps above `low` each value lies."""
        with np.errstate(over="ignore"):
            scaled = (
                np.ldexp(values, -self.exponent)
                if self.decimals is None
                else values * float(10**self.decimals)
            )
        return np.clip(np.rint(scaled), float(self.low), float(self.high)).astype(np.int64) - self.low

    def values(self, places: Places) -> Floats:
        """Steps above `low` as numbers."""
        return np.array([float((self.low + place) * self.step) for place in places.tolist()])


def _inside(lower: float, upper: float, step: Fraction) -> tuple[int, int]:
    return math.ceil(Fraction(lower) / step), math.floor(Fraction(upper) / step)


# What a quantile may be: sets of values on the public grid, single points and the gaps between them.
#
# Points are the round numbers of the domain (multiples of 1, 2 or 5 times a power of ten) and its two ends; all values of
# the grid are points if there are few enough. Values that many records share are mostly round, and a shared value that is a
# point is found exactly; a gap of several values is released as its middle.
#
# For the set from a to b the utility is −max(#{y < a} − qn, qn − #{y ≤ b}, 0): 0 if the quantile lies in it, ties
# included, else how many records lie in between. Replacing one record changes both counts by at most 1, n by nothing, so the
# utility by at most 1. Adding one changes the first term by −q or 1 − q and the second by q or q − 1: at most max(q, 1 − q).


@dataclass(frozen=True)
class Candidates:
    """The sets {p₀}, (p₀, p₁), {p₁}, …; gaps without a value of the grid are left out.

    `cells` is the least number of gaps, if the grid has that many values; rounding makes it up to 2.5 times as many.
    """

    grid: ValueGrid
    cells: int

    @property
    def points(self) -> Places:
        """In steps above the lowest value: rising, both ends of the domain included."""
        return _points(self)

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which pairs of neighbouring points have values between them."""
        return np.asarray(np.diff(self.points) > 1)

    @property
    def released(self) -> Floats:
        """What stands for each set, in order."""
        return _released(self)

    @property
    def finest(self) -> float:
        """The width of a set, at most; 0 if each is one value."""
        return float(np.diff(self.points).max() * self.grid.step) if self.gaps.any() else 0.0

    def counts(self, places: Places) -> NDArray[np.int64]:
        """How many values lie in each set."""
        points = self.points
        right = np.searchsorted(points, places, side="left")  # the point at or above the value
        interleaved = np.bincount(2 * right - (points[right] != places), minlength=2 * len(points) - 1)
        return interleaved[self.kept]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which of point, gap, point, … are candidates."""
        mask = np.ones(2 * len(self.points) - 1, dtype=np.bool_)
        mask[1::2] = self.gaps
        return mask


@lru_cache(maxsize=64)
def _points(candidates: Candidates) -> Places:
    grid = candidates.grid
    apart = _round_down(grid.steps * grid.step / candidates.cells) / grid.step
    if apart <= 1:
        return np.arange(grid.steps + 1, dtype=np.int64)
    first, last = math.ceil(grid.low / apart), math.floor(grid.high / apart)
    p, q = apart.numerator, apart.denominator
    rounded = [(2 * i * p + q) // (2 * q) - grid.low for i in range(first, last + 1)]
    return np.unique(np.array([0, *rounded, grid.steps], dtype=np.int64))


def _round_down(width: Fraction) -> Fraction:
    """The largest of 1, 2 and 5 times a power of ten that is not above the width."""
    power = Fraction(10) ** math.floor(math.log10(width))
    return max(size for size in (power / 10 * 5, power, power * 2, power * 5, power * 10) if size <= width)


@lru_cache(maxsize=64)
def _released(candidates: Candidates) -> Floats:
    points = candidates.points
    places = np.empty(2 * len(points) - 1, dtype=np.int64)
    places[0::2], places[1::2] = points, (points[:-1] + points[1:]) // 2
    return candidates.grid.values(places[candidates.kept])


def distances(
    counts: NDArray[np.int64] | Floats, quantile: float | int, one: float | int = 1
) -> NDArray[np.int64] | Floats:
    """Minus the utility of each set, along the last axis.

    Exact in whole numbers: with `quantile` = p and `one` = d it is d times that of the level p/d.
    """
    upto = np.cumsum(counts, axis=-1)
    total = upto[..., -1:] * quantile
    return np.asarray(np.maximum(np.maximum((upto - counts) * one - total, total - upto * one), 0))
