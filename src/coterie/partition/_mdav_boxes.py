"""Boxes of boxes around places that disappear, 32 at a time.

Leaves hold `WIDTH` places near one another; `WIDTH` leaves form a branch. Each has its bounding box, which
shrinks as places empty, so that a search sees only those who are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from coterie.partition._mdav_kd_order import kd_order

WIDTH = 32


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


def by_attribute(rows: NDArray[np.float64], slots: NDArray[np.int64], blocks: int) -> NDArray[np.float64]:
    """Rows put into their slots, as block × attribute × slot; slots without a row are NaN."""
    padded = np.full((blocks * WIDTH, rows.shape[1]), np.nan)
    padded[slots] = rows
    return np.ascontiguousarray(padded.reshape(blocks, WIDTH, rows.shape[1]).transpose(0, 2, 1))


def build_nearest(points: NDArray[np.float64], alive: NDArray[np.int64]) -> NearestIndex:
    """Index the places `alive`, rows of `points`."""
    order = kd_order(points, alive, WIDTH)
    attributes = points.shape[1]
    leaves = -(-len(order) // WIDTH)
    branches = -(-leaves // WIDTH)
    blocks = -(-branches // WIDTH)
    slots = np.arange(len(order))
    coordinates = by_attribute(points[order], slots, leaves)
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
