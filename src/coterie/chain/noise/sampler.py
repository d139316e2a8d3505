"""The one small interface behind which noise is drawn."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Protocol

import numpy as np

from coterie.chain.noise.grid import Grid
from coterie.errors import ParameterError
from coterie.schema.arrays import Floats, Whole, Words

__all__ = ["Floats", "Sampler", "laplace_scales", "shuffled_order"]


class Sampler(Protocol):
    """Where randomness comes from. `stream` names the attribute, so that draws never overlap."""

    @property
    def name(self) -> str: ...

    @property
    def private(self) -> bool:
        """Whether nobody can repeat the draws."""
        ...

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: Grid | None = None) -> Floats:
        """centres + Laplace(scales), one independent draw each; a scale of 0 leaves the centre as it is.

        Scales that depend on the data need a `grid` that does not (`public_grid`); without one it follows the scales.
        """
        ...

    def uniform_words(self, count: int, stream: str) -> Words:
        """Independent uniform 64-bit words."""
        ...


def laplace_scales(sensitivities: Floats, epsilon: Fraction | Floats) -> Floats:
    """b = Δ/ε (Soria-Comas et al., Prop. 1, Sánchez et al. 2016, §2.2), rounded up so that rounding can only add noise.

    The quotient of doubles is within three half-units in the last place of the exact one; 2^-50 is above that. An array
    of ε holds the doubles nearest to the exact ones, as `float` gives them.
    """
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
        order = np.argsort(words, kind="stable")
        if count < 2 or not np.any(words[order][1:] == words[order][:-1]):
            return order
    raise AssertionError("some attempt succeeds")
