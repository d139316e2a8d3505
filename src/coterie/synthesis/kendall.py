"""Kendall's τ of two columns: (concordant - discordant pairs) / C(n, 2), tied pairs counting 0 (τ-a).

Replacing one record touches n - 1 pairs, and the sign of a pair lies in {-1, 0, 1}, so the whole number C - D moves by at
most 2(n - 1) and τ by 4/n: with ties or without, and the bound is attained. (τ-b divides by the numbers of tied pairs, which
depend on the data: its sensitivity is not 4/n.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def concordance(x: NDArray[Any], y: NDArray[Any]) -> int:
    """C - D, exactly, in O(n log n): sort by x, then count the exchanges that sort y (Knight 1966)."""
    from coterie.synthesis._merge import exchanges

    n = len(x)
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    tied_x = _pairs(np.diff(np.flatnonzero(_starts(x))))
    tied_both = _pairs(np.diff(np.flatnonzero(_starts(x) | _starts(y))))
    swaps = int(exchanges(np.array(y, dtype=np.float64)))
    ordered = np.sort(y)
    tied_y = _pairs(np.diff(np.flatnonzero(_starts(ordered))))
    # All pairs are concordant, discordant (= exchanges), tied in x, in y, or in both.
    concordant = n * (n - 1) // 2 - tied_x - tied_y + tied_both - swaps
    return concordant - swaps


def concordance_sensitivity(records: int) -> int:
    """How far one replacement moves C - D: n - 1 pairs, each by at most 2."""
    return 2 * (records - 1)


def _starts(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a run of equal values starts, and the end of the list."""
    marks = np.ones(len(ordered) + 1, dtype=np.bool_)
    marks[1:-1] = ordered[1:] != ordered[:-1]
    return marks


def _pairs(runs: NDArray[np.intp]) -> int:
    return int(np.sum(runs.astype(np.int64) * (runs - 1) // 2))
