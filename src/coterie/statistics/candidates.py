"""What a quantile may be: sets of values on the public grid, single points and the gaps between them.

Points are the round numbers of the domain (multiples of 1, 2 or 5 times a power of ten) and its two ends; all values of
the grid are points if there are few enough. Values that many records share are mostly round, and a shared value that is a
point is found exactly; a gap of several values is released as its middle.

For the set from a to b the utility is −max(#{y < a} − qn, qn − #{y ≤ b}, 0): 0 if the quantile lies in it, ties
included, else how many records lie in between. Replacing one record changes both counts by at most 1, n by nothing, so the
utility by at most 1. Adding one changes the first term by −q or 1 − q and the second by q or q − 1: at most max(q, 1 − q).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.value_grid import Floats, Places, ValueGrid


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
        """Of point, gap, point, …, those that are candidates."""
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
