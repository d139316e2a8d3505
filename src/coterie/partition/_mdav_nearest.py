"""Exact nearest neighbours among places that disappear: boxes of boxes, 32 at a time.

Leaves hold `WIDTH` places; `WIDTH` leaves form a branch. Each has its bounding box, and the least distance
to a box is computed by the same operations in the same order as the distance to a place. Rounding is
monotone, so the computed bound never exceeds the computed distance of a place inside: pruning needs no
tolerance, and ties are decided as a full scan would. Blocks are stored attribute by attribute, so one pass
computes all `WIDTH` distances with vector instructions.
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
_ROUNDS = (0.125, 0.25, 0.5, 1.0)


class NearestIndex(NamedTuple):
    """Places by leaf, leaves' boxes by branch, branches' boxes in a list padded to whole blocks."""

    coordinates: NDArray[np.float64]  # leaf × attribute × slot; NaN where nobody is left
    place: NDArray[np.int64]  # leaf × slot
    leaf_boxes: NDArray[np.float64]  # branch × (low, high) × attribute × leaf; empty boxes are (inf, -inf)
    branch_boxes: NDArray[np.float64]  # block × (low, high) × attribute × branch
    position: NDArray[np.int64]  # place → leaf · WIDTH + slot, -1 once nobody is left
    scratch: NDArray[np.float64]  # three rows of WIDTH distances
    found_bound: NDArray[np.float64]  # scratch: leaves worth a visit
    found_leaf: NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def _fit_leaf(index: NearestIndex, leaf: int, j: int) -> None:
    """Attribute j of the leaf's box, around the places left in it; comparisons with NaN are false."""
    block, box, at = index.coordinates, index.leaf_boxes, leaf % WIDTH
    low, high = np.inf, -np.inf
    for t in range(block.shape[2]):
        value = block[leaf, j, t]
        low = value if value < low else low
        high = value if value > high else high
    box[leaf // WIDTH, 0, j, at] = low
    box[leaf // WIDTH, 1, j, at] = high


@numba.njit(cache=True, nogil=True)
def _fit_branch(index: NearestIndex, branch: int, j: int) -> None:
    boxes, box, at = index.leaf_boxes, index.branch_boxes, branch % WIDTH
    low, high = np.inf, -np.inf
    for t in range(boxes.shape[3]):
        low = min(low, boxes[branch, 0, j, t])
        high = max(high, boxes[branch, 1, j, t])
    box[branch // WIDTH, 0, j, at] = low
    box[branch // WIDTH, 1, j, at] = high


def by_attribute(
    rows: NDArray[np.float64], slots: NDArray[np.int64], blocks: int, width: int
) -> NDArray[np.float64]:
    """Rows put into their slots, as block × attribute × slot; slots without a row are NaN."""
    padded = np.full((blocks * width, rows.shape[1]), np.nan)
    padded[slots] = rows
    return np.ascontiguousarray(padded.reshape(blocks, width, rows.shape[1]).transpose(0, 2, 1))


def build_nearest(points: NDArray[np.float64], alive: NDArray[np.int64]) -> NearestIndex:
    """Index the places `alive`, rows of `points`."""
    order = kd_order(points, alive, WIDTH)
    attributes = points.shape[1]
    leaves = -(-len(order) // WIDTH)
    branches = -(-leaves // WIDTH)
    blocks = -(-branches // WIDTH)
    slots = np.arange(len(order))
    coordinates = by_attribute(points[order], slots, leaves, WIDTH)
    place = np.full(leaves * WIDTH, -1)
    place[slots] = order
    position = np.full(len(points), -1)
    position[order] = slots
    # fmin and fmax pass over the NaN of unused slots. Boxes nobody is in stay (inf, -inf).
    leaf_boxes = _empty_boxes(branches, attributes)
    leaf, inside = np.arange(leaves) // WIDTH, np.arange(leaves) % WIDTH
    leaf_boxes[leaf, 0, :, inside] = np.fmin.reduce(coordinates, axis=2)
    leaf_boxes[leaf, 1, :, inside] = np.fmax.reduce(coordinates, axis=2)
    branch_boxes = _empty_boxes(blocks, attributes)
    branch, inside = np.arange(branches) // WIDTH, np.arange(branches) % WIDTH
    branch_boxes[branch, 0, :, inside] = leaf_boxes[:, 0].min(axis=2)
    branch_boxes[branch, 1, :, inside] = leaf_boxes[:, 1].max(axis=2)
    return NearestIndex(
        coordinates=coordinates,
        place=place.reshape(leaves, WIDTH),
        leaf_boxes=leaf_boxes,
        branch_boxes=branch_boxes,
        position=position,
        scratch=np.empty((3, WIDTH)),
        found_bound=np.empty(branches * WIDTH + 1),
        found_leaf=np.empty(branches * WIDTH + 1, np.int64),
    )


def _empty_boxes(groups: int, attributes: int) -> NDArray[np.float64]:
    boxes = np.full((groups, 2, attributes, WIDTH), np.inf)
    boxes[:, 1] = -np.inf
    return boxes


@numba.njit(cache=True, nogil=True)
def remove_from_nearest(index: NearestIndex, place: int) -> None:
    """Nobody is left at this place; the boxes around it shrink to those who are."""
    leaf, slot = index.position[place] // WIDTH, index.position[place] % WIDTH
    branch = leaf // WIDTH
    for j in range(index.coordinates.shape[1]):
        value = index.coordinates[leaf, j, slot]
        index.coordinates[leaf, j, slot] = np.nan
        box = index.leaf_boxes[branch, :, j, leaf % WIDTH]
        if box[0] == value or box[1] == value:
            _fit_leaf(index, leaf, j)
            around = index.branch_boxes[branch // WIDTH, :, j, branch % WIDTH]
            if around[0] == value or around[1] == value:
                _fit_branch(index, branch, j)
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
    least = np.inf
    for t in range(len(values)):
        least = values[t] if values[t] < least else least
    return least <= limit


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
    near = index.scratch[2]
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
def _collect_leaves(index: NearestIndex, at: NDArray[np.float64], home: int, worst: float) -> int:
    """List the leaves outside the branch `home` whose boxes come as near as `worst`; returns how many."""
    branch_bounds, leaf_bounds = index.scratch[0], index.scratch[1]
    found = 0
    for block in range(len(index.branch_boxes)):
        _box_distances(index.branch_boxes[block], at, branch_bounds)
        for b in range(len(branch_bounds)):
            branch = block * WIDTH + b
            if branch_bounds[b] <= worst and branch_bounds[b] < np.inf and branch != home:
                _box_distances(index.leaf_boxes[branch], at, leaf_bounds)
                for t in range(len(leaf_bounds)):
                    # Written always, kept only if near: cheaper than a branch nobody can predict.
                    index.found_bound[found] = leaf_bounds[t]
                    index.found_leaf[found] = branch * WIDTH + t
                    found += leaf_bounds[t] <= worst
    return found


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
    first = home // WIDTH * WIDTH
    # The leader's own leaf and branch first: they give a bound that prunes most of the others.
    _visit_leaf(index, home, at, places, distances, records, chosen)
    _box_distances(index.leaf_boxes[home // WIDTH], at, index.scratch[1])
    for t in range(WIDTH):
        if index.scratch[1, t] <= distances[0] and index.scratch[1, t] < np.inf and first + t != home:
            _visit_leaf(index, first + t, at, places, distances, records, chosen)
    found = _collect_leaves(index, at, home // WIDTH, distances[0])
    # Nearly best first, without sorting: rounds of widening reach, each leaf visited in one of them.
    reach = distances[0]
    inner = -1.0
    for share in _ROUNDS:
        outer = reach * share
        for i in range(found):
            bound = index.found_bound[i]
            if inner < bound <= outer and bound <= distances[0]:
                _visit_leaf(index, index.found_leaf[i], at, places, distances, records, chosen)
        inner = outer
