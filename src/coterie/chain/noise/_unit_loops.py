"""The compiled loops around the logarithm of `unit_laplace`, for long columns: the same bits in two passes, not in nine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled

_HIGHEST = 0.5 - 2.0**-54


@compiled
def before_logarithm(words: NDArray[np.uint64], drawn: NDArray[np.float64]) -> None:
    """-2|u|, u the middle of one of 2^53 cells between -1/2 and 1/2."""
    for i in range(len(words)):
        centred = (np.float64(words[i] >> np.uint64(11)) + 0.5) * 2.0**-53 - 0.5
        drawn[i] = -2.0 * abs(min(centred, _HIGHEST))


@compiled
def give_sign(words: NDArray[np.uint64], drawn: NDArray[np.float64]) -> None:
    """Draws are negative so far; u is positive where a word's first bit is set."""
    for i in range(len(words)):
        drawn[i] = -drawn[i] if words[i] >> np.uint64(63) else drawn[i]
