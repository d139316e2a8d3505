"""The exact farthest record: shells around a centre, one stack of shells for each cone of directions.

Seen from the centre o, a place x has a norm |x-o| and a cone: the signs of its widest attributes. With
u = q - o and x in the cone of signs σ, the squared distance to q is

    |x-o|² + |u|² - 2 (x-o)·u  ≤  |x-o|² + |u|² + 2 |x-o| c,  c² = Σ_signed max(-σ_j u_j, 0)² + Σ_others u_j²

(Cauchy and Schwarz on the terms that can be positive). Inside a cone, places are stored by falling norm, so
the search of a cone stops at the first block whose bound is below the best distance found.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from coterie.partition._mdav_boxes import WIDTH, by_attribute
from coterie.partition._mdav_distance import squared_distances
from coterie.partition._mdav_distinct import Places

_MOST_SIGNS = 10
# The bound is computed with rounding errors of a few 1e-16; this is far above them, and costs nothing.
_SAFETY = 1.0 + 1e-9
_TINY = 1e-290


class FarthestIndex(NamedTuple):
    centre: NDArray[np.float64]
    signed: NDArray[np.int64]  # the attributes whose signs name the cone
    coordinates: NDArray[np.float64]  # block × attribute × slot; NaN where nobody is left
    place: NDArray[np.int64]  # block × slot
    norms: NDArray[np.float64]  # block × slot, falling; -1 where nobody is left
    top: NDArray[np.float64]  # block → largest norm left, -1 if none
    first: NDArray[np.int64]  # cone → its first block that is not empty
    stop: NDArray[np.int64]  # cone → one past its last block
    cone_top: NDArray[np.float64]  # cone → largest norm left, -1 if none
    cone_of: NDArray[np.int64]  # block → cone
    position: NDArray[np.int64]  # place → block · WIDTH + slot
    slopes: NDArray[np.float64]  # scratch: 2c of every cone
    bounds: NDArray[np.float64]  # scratch: the bound of every cone
    far: NDArray[np.float64]  # scratch, WIDTH distances


def build_farthest(
    points: NDArray[np.float64], alive: NDArray[np.int64], centre: NDArray[np.float64]
) -> FarthestIndex:
    """Index the places `alive`, rows of `points`. Any centre is correct; their centroid prunes best."""
    gaps = points[alive] - centre
    squares = gaps * gaps
    norms = np.sqrt(squares.sum(axis=1))
    signs = min(points.shape[1], _MOST_SIGNS, max(len(alive) // (4 * WIDTH), 1).bit_length() - 1)
    signed = np.argsort(-squares.sum(axis=0), kind="stable")[:signs]
    cone = (gaps[:, signed] >= 0.0) @ (1 << np.arange(signs))
    order = np.lexsort((-norms, cone))
    alive, cone = alive[order], cone[order]
    sizes = np.bincount(cone, minlength=1 << signs)
    stop = np.cumsum(-(-sizes // WIDTH))
    first = stop - -(-sizes // WIDTH)
    blocks = int(stop[-1])
    rank = np.arange(len(alive)) - (np.cumsum(sizes) - sizes)[cone]
    slots = first[cone] * WIDTH + rank
    place = np.full(blocks * WIDTH, -1)
    place[slots] = alive
    slot_norms = np.full(blocks * WIDTH, -1.0)
    slot_norms[slots] = norms[order]
    position = np.full(len(points), -1)
    position[alive] = slots
    top = slot_norms[::WIDTH].copy()
    return FarthestIndex(
        centre=centre.copy(),
        signed=signed,
        coordinates=by_attribute(points[alive], slots, blocks),
        place=place.reshape(blocks, WIDTH),
        norms=slot_norms.reshape(blocks, WIDTH),
        top=top,
        first=first,
        stop=stop,
        cone_top=np.where(sizes > 0, np.append(top, -1.0)[first], -1.0),
        cone_of=np.repeat(np.arange(1 << signs), stop - first),
        position=position,
        slopes=np.empty(1 << signs),
        bounds=np.empty(1 << signs),
        far=np.empty(WIDTH),
    )


@numba.njit(cache=True, nogil=True)
def remove_from_farthest(index: FarthestIndex, place: int) -> None:
    block, slot = index.position[place] // WIDTH, index.position[place] % WIDTH
    for j in range(index.coordinates.shape[1]):
        index.coordinates[block, j, slot] = np.nan
    index.norms[block, slot] = -1.0
    index.top[block] = -1.0
    for t in range(WIDTH):
        index.top[block] = max(index.top[block], index.norms[block, t])
    c = index.cone_of[block]
    while index.first[c] < index.stop[c] and index.top[index.first[c]] < 0.0:
        index.first[c] += 1
    index.cone_top[c] = index.top[index.first[c]] if index.first[c] < index.stop[c] else -1.0


@numba.njit(cache=True, nogil=True)
def _bound_cones(index: FarthestIndex, at: NDArray[np.float64]) -> float:
    """Fill `slopes` with 2c and `bounds` with the bound of every cone; returns |u|²."""
    slopes, bounds = index.slopes, index.bounds
    squared, others = 0.0, 0.0
    for j in range(len(at)):
        gap = at[j] - index.centre[j]
        squared += gap * gap
        is_signed = False
        for known in index.signed:
            is_signed |= known == j
        if not is_signed:
            others += gap * gap
    slopes[0] = others
    for bit in range(len(index.signed)):
        j = index.signed[bit]
        gap = at[j] - index.centre[j]
        when_above = gap * gap if gap < 0.0 else 0.0
        when_below = gap * gap if gap > 0.0 else 0.0
        half = 1 << bit
        for c in range(half):
            slopes[half + c] = slopes[c] + when_above
            slopes[c] += when_below
    for c in range(len(slopes)):
        top = index.cone_top[c]
        slopes[c] = 2.0 * np.sqrt(slopes[c])
        bounds[c] = _SAFETY * (top * (top + slopes[c]) + squared) + _TINY if top >= 0.0 else -1.0
    return squared


@numba.njit(cache=True, nogil=True)
def find_farthest(index: FarthestIndex, at: NDArray[np.float64], places: Places) -> int:
    """The place of the record farthest from `at`; among equals that of the lowest record."""
    far = index.far
    squared = _bound_cones(index, at)
    start = np.argmax(index.bounds)
    best, best_record, best_place = 0.0, 0, -1
    for turn in range(-1, len(index.bounds)):
        # The most promising cone first: the distance found there spares most of the others.
        c = start if turn < 0 else turn
        if turn == start or index.bounds[c] < best:
            continue
        for block in range(index.first[c], index.stop[c]):
            top = index.top[block]
            if top < 0.0:
                continue
            if _SAFETY * (top * (top + index.slopes[c]) + squared) + _TINY < best:
                break
            squared_distances(index.coordinates[block], at, far)
            count = 0
            for t in range(len(far)):
                count += far[t] >= best
            if count == 0:
                continue
            for t in range(len(far)):
                if far[t] >= best:
                    p = index.place[block, t]
                    record = places.queue[places.head[p]]
                    if best_place < 0 or far[t] > best or record < best_record:
                        best, best_record, best_place = far[t], record, p
    return best_place
