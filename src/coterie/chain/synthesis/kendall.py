"""The compiled loop behind Kendall's τ: a merge sort that counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled


@compiled
def exchanges(values: NDArray[np.float64]) -> int:
    """How many pairs stand in falling order (equal values do not). `values` is sorted on the way."""
    n = len(values)
    other = np.empty(n)
    count = 0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            left, right = start, middle
            for at in range(start, end):
                if right >= end or (left < middle and values[left] <= values[right]):
                    other[at] = values[left]
                    left += 1
                else:
                    other[at] = values[right]
                    right += 1
                    count += middle - left  # all that is left of the left half stood before it and is larger
        values, other = other, values
        width *= 2
    return count


# Kendall's τ of two columns: (concordant - discordant pairs) / C(n, 2), tied pairs counting 0 (τ-a).
#
# Replacing one record touches n - 1 pairs, and the sign of a pair lies in {-1, 0, 1}, so the whole number C - D moves by at
# most 2(n - 1) and τ by 4/n: with ties or without, and the bound is attained. (τ-b divides by the numbers of
# tied pairs, which
# depend on the data: its sensitivity is not 4/n.)

Floats = NDArray[np.float64]


def concordance(x: NDArray[Any], y: NDArray[Any]) -> int:
    """C - D, exactly, in O(n log n): sort by x, then count the exchanges that sort y (Knight 1966)."""
    from coterie.chain.synthesis.kendall import exchanges

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
