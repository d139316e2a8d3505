"""The public grid that a column's values are put on before anything is added up: whole numbers have exact sums.

The grid follows from the declared attribute alone. Whole numbers and dates have step 1, `decimals: d` has step 10^-d;
any other column has a step of at most 2^-31 of its domain's width (coarser only where doubles themselves are).
Each value moves to its nearest step by itself, and is then cut to the steps inside the domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.schema import Attribute, AttributeType

Floats = NDArray[np.float64]
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
        """On the grid, or half a step beside it: sums count in half steps."""
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
