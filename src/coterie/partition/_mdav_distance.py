"""The distances MDAV compares, computed in one way only, so that indexes and full scans agree bit by bit.

Both are summed over the attributes from left to right. The least distance to a box takes the same operations
in the same order as the distance to a place. Rounding is monotone, so the computed bound never exceeds the
computed distance of a place inside: pruning needs no tolerance, and ties are decided as a full scan would.

A block is attribute × slot, so one pass computes the distances of all its slots with vector instructions. Its
width is read from the array on purpose: a constant would be unrolled into scalar code.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def squared_distances(block: NDArray[np.float64], at: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Σ (x_j - at_j)² for every slot; NaN for an empty one."""
    attributes, width = block.shape
    for t in range(width):
        out[t] = 0.0
    for j in range(attributes):
        centre = at[j]
        for t in range(width):
            gap = block[j, t] - centre
            out[t] += gap * gap


@numba.njit(cache=True, nogil=True)
def box_distances(boxes: NDArray[np.float64], at: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Σ (gap between at_j and the box)² for every slot; inf for an empty box (inf, -inf)."""
    _, attributes, width = boxes.shape
    for t in range(width):
        out[t] = 0.0
    for j in range(attributes):
        centre = at[j]
        for t in range(width):
            below = boxes[0, j, t] - centre
            above = centre - boxes[1, j, t]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            out[t] += gap * gap
