"""An order of places in which neighbours in space are neighbours in memory.

As in a kd-tree, each range is cut across its widest attribute, but cuts fall on multiples of the leaf width,
so leaves are full and the tree itself need not be kept: leaf l holds positions l·width … (l+1)·width - 1.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

_SAMPLE = 64


@numba.njit(cache=True, nogil=True)
def _widest(points: NDArray[np.float64], order: NDArray[np.int64], start: int, stop: int) -> int:
    """The attribute of largest variance in a sample: any choice is correct, a good one prunes more."""
    step = max((stop - start) // _SAMPLE, 1)
    best, widest = -1.0, 0
    for j in range(points.shape[1]):
        anchor = points[order[start], j]
        count, first, second = 0, 0.0, 0.0
        for i in range(start, stop, step):
            gap = points[order[i], j] - anchor
            count += 1
            first += gap
            second += gap * gap
        spread = second - first * first / count
        if spread > best:
            best, widest = spread, j
    return widest


@numba.njit(cache=True, nogil=True)
def _select(keys: NDArray[np.float64], order: NDArray[np.int64], start: int, stop: int, middle: int) -> None:
    """Hoare's quickselect: afterwards no key before `middle` exceeds one after it."""
    low, high = start, stop - 1
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@numba.njit(cache=True, nogil=True)
def kd_order(points: NDArray[np.float64], places: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """`places` rearranged so that every aligned run of `width`, and of width², is compact in space."""
    order = places.copy()
    keys = np.empty(len(order))
    starts, stops = np.empty(128, np.int64), np.empty(128, np.int64)
    starts[0], stops[0] = 0, len(order)
    waiting = 1
    while waiting > 0:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        length = stop - start
        if length <= width:
            continue
        unit = width * width if length > width * width else width
        middle = start + unit * ((length + unit - 1) // unit // 2)
        axis = _widest(points, order, start, stop)
        for i in range(start, stop):
            keys[i] = points[order[i], axis]
        _select(keys, order, start, stop, middle)
        starts[waiting], stops[waiting] = start, middle
        starts[waiting + 1], stops[waiting + 1] = middle, stop
        waiting += 2
    return order
