"""Exact nearest neighbours among places that disappear: boxes of boxes, 32 at a time.

Leaves hold `WIDTH` places; `WIDTH` leaves form a branch. Each has its bounding box, and the least distance to
a box is computed by the same operations in the same order as the distance to a place. Rounding is monotone, so
the computed bound never exceeds the computed distance of a place inside: pruning needs no tolerance, and
ties are decided as a full scan would. Blocks are stored attribute by attribute, so one pass computes
all `WIDTH` distances with vector instructions.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from coterie.partition._mdav_distinct import Places
from coterie.partition._mdav_kd_order import kd_order
from coterie.partition._mdav_nearest_heap import is_before, replace_worst

WIDTH = 32


class NearestIndex(NamedTuple):
    """Places by leaf, leaves' boxes by branch, branches' boxes in a list padded to whole blocks."""

    coordinates: NDArray[np.float64]  # leaf × attribute × slot; NaN where nobody is left
    place: NDArray[np.int64]  # leaf × slot
    leaf_boxes: NDArray[np.float64]  # branch × (low, high) × attribute × leaf; empty boxes are (inf, -inf)
    branch_boxes: NDArray[np.float64]  # block × (low, high) × attribute × branch
    position: NDArray[np.int64]  # place → leaf · WIDTH + slot, -1 once nobody is left
    near: NDArray[np.float64]  # scratch: three rows of WIDTH distances


@numba.njit(cache=True, nogil=True)
def _box_of_places(index: NearestIndex, leaf: int) -> None:
    block = index.coordinates[leaf]
    box = index.leaf_boxes[leaf // WIDTH]
    at = leaf % WIDTH
    for j in range(block.shape[0]):
        low, high = np.inf, -np.inf
        for t in range(block.shape[1]):
            value = block[j, t]
            if value < low:
                low = value
            if value > high:
                high = value
        box[0, j, at] = low
        box[1, j, at] = high


@numba.njit(cache=True, nogil=True)
def _box_of_leaves(index: NearestIndex, branch: int) -> None:
    boxes = index.leaf_boxes[branch]
    box = index.branch_boxes[branch // WIDTH]
    at = branch % WIDTH
    for j in range(boxes.shape[1]):
        box[0, j, at] = boxes[0, j].min()
        box[1, j, at] = boxes[1, j].max()


@numba.njit(cache=True, nogil=True)
def build_nearest(points: NDArray[np.float64], alive: NDArray[np.int64]) -> NearestIndex:
    order = kd_order(points, alive, WIDTH)
    attributes = points.shape[1]
    leaves = (len(order) + WIDTH - 1) // WIDTH
    branches = (leaves + WIDTH - 1) // WIDTH
    blocks = (branches + WIDTH - 1) // WIDTH
    index = NearestIndex(
        np.full((leaves, attributes, WIDTH), np.nan),
        np.full((leaves, WIDTH), -1, np.int64),
        np.empty((branches, 2, attributes, WIDTH)),
        np.empty((blocks, 2, attributes, WIDTH)),
        np.empty(len(points), np.int64),
        np.empty((3, WIDTH)),
    )
    for boxes in (index.leaf_boxes, index.branch_boxes):
        boxes[:, 0] = np.inf
        boxes[:, 1] = -np.inf
    for i in range(len(order)):
        leaf, slot, p = i // WIDTH, i % WIDTH, order[i]
        index.position[p] = i
        index.place[leaf, slot] = p
        for j in range(attributes):
            index.coordinates[leaf, j, slot] = points[p, j]
    for leaf in range(leaves):
        _box_of_places(index, leaf)
    for branch in range(branches):
        _box_of_leaves(index, branch)
    return index


@numba.njit(cache=True, nogil=True)
def remove_from_nearest(index: NearestIndex, place: int) -> None:
    """Nobody is left at this place; the boxes around it shrink to those who are."""
    leaf, slot = index.position[place] // WIDTH, index.position[place] % WIDTH
    index.coordinates[leaf, :, slot] = np.nan
    _box_of_places(index, leaf)
    _box_of_leaves(index, leaf // WIDTH)
    index.position[place] = -1


@numba.njit(cache=True, nogil=True)
def squared_distances(block: NDArray[np.float64], at: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Σ (x_j - at_j)², attributes left to right: the only way Coterie computes this distance."""
    # The width is read from the array on purpose: a constant would be unrolled into scalar code.
    attributes, width = block.shape
    for t in range(width):
        out[t] = 0.0
    for j in range(attributes):
        centre = at[j]
        for t in range(width):
            gap = block[j, t] - centre
            out[t] += gap * gap


@numba.njit(cache=True, nogil=True)
def _box_distances(boxes: NDArray[np.float64], at: NDArray[np.float64], out: NDArray[np.float64]) -> None:
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


@numba.njit(cache=True, nogil=True, inline="always")
def _any_up_to(values: NDArray[np.float64], limit: float) -> bool:
    count = 0
    for t in range(len(values)):
        count += values[t] <= limit
    return count > 0


@numba.njit(cache=True, nogil=True)
def _visit_leaf(
    index: NearestIndex,
    leaf: int,
    at: NDArray[np.float64],
    places: Places,
    distances: NDArray[np.float64],
    records: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> None:
    near = index.near[2]
    squared_distances(index.coordinates[leaf], at, near)
    if not _any_up_to(near, distances[0]):
        return
    for slot in range(len(near)):
        if near[slot] <= distances[0]:
            p = index.place[leaf, slot]
            for i in range(places.head[p], places.end[p]):
                record = places.queue[i]
                if not is_before(near[slot], record, distances[0], records[0]):
                    break
                replace_worst(distances, records, chosen, near[slot], record, p)


@numba.njit(cache=True, nogil=True)
def _visit_branch(
    index: NearestIndex,
    branch: int,
    done: int,
    at: NDArray[np.float64],
    places: Places,
    distances: NDArray[np.float64],
    records: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> None:
    bounds = index.near[1]
    _box_distances(index.leaf_boxes[branch], at, bounds)
    if not _any_up_to(bounds, distances[0]):
        return
    for t in range(len(bounds)):
        leaf = branch * WIDTH + t
        if bounds[t] <= distances[0] and bounds[t] < np.inf and leaf != done:
            _visit_leaf(index, leaf, at, places, distances, records, chosen)


@numba.njit(cache=True, nogil=True)
def find_nearest(
    index: NearestIndex,
    leader: int,
    at: NDArray[np.float64],
    places: Places,
    distances: NDArray[np.float64],
    records: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> None:
    """Fill the (cleared) heap with the records nearest to `at`, the coordinates of place `leader`."""
    home = index.position[leader] // WIDTH
    # The leader's own leaf and branch first: they give a bound that prunes most of the others.
    _visit_leaf(index, home, at, places, distances, records, chosen)
    _visit_branch(index, home // WIDTH, home, at, places, distances, records, chosen)
    bounds = index.near[0]
    for block in range(len(index.branch_boxes)):
        _box_distances(index.branch_boxes[block], at, bounds)
        for t in range(len(bounds)):
            branch = block * WIDTH + t
            if bounds[t] <= distances[0] and bounds[t] < np.inf and branch != home // WIDTH:
                _visit_branch(index, branch, -1, at, places, distances, records, chosen)
