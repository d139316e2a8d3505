"""What MDAV still has to place, and its search structure: equal records, their sum, and boxes in the order of a k-d tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.chain.partition._compiled import compiled, compiled_inline
from coterie.errors import DataError, ParameterError
from coterie.schema.arrays import Floats, Whole, Words

# What every partition of numbers must be given: enough records, and finite numbers of a sane size.

LARGEST_COORDINATE = 1e150  # above it a squared distance may overflow and distances stop being comparable


def check_group_size(k: int, records: int) -> int:
    """k as a plain int, if groups of at least k can be made at all."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise ParameterError("k is not a whole number.", "Give k as an integer such as 10.")
    if k < 1:
        raise ParameterError("k must be at least 1.", "Choose how many records every group must have.")
    if records < k:
        raise ParameterError(
            f"k = {k} is larger than the number of records.",
            "Choose a smaller k, or protect more records together.",
        )
    return int(k)


def check_points(points: Floats, what: str = "points", fewest_columns: int = 1) -> Floats:
    """The matrix as contiguous doubles; one row per record, one column per attribute."""
    matrix = np.asarray(points)
    if matrix.ndim != 2:
        raise DataError(
            f"The {what} have {matrix.ndim} dimensions, not 2.",
            "Give one row for each record and one column for each attribute.",
        )
    if matrix.shape[1] < fewest_columns:
        raise DataError(f"The {what} have no attribute.", "Name at least one attribute to group by.")
    if matrix.dtype.kind not in "fiu":
        raise DataError(f"The {what} are not numbers.", "Encode categories as numbers or codes first.")
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    bad = np.count_nonzero(~(np.abs(matrix) <= LARGEST_COORDINATE).all(axis=1))
    if bad:
        raise DataError(
            f"{bad} records have a missing, infinite or enormous value.",
            "Treat missing values first and standardise the attributes.",
        )
    return matrix + 0.0  # -0.0 becomes 0.0: equal values must also be equal bit by bit


# The sum of the records that are left, carried as an unevaluated pair of doubles.
#
# Taking a million records away from a plain sum drifts; a pair (high, low) keeps about 106 bits (Knuth's
# two-sum), so the centroid is the rounded exact mean for all but contrived tables, at any step, and does not
# depend on how many records were taken away before.


@compiled_inline
def _two_sum(a: float, b: float) -> tuple[float, float]:
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


@compiled
def add_row(sums: Floats, row: Floats, sign: float) -> None:
    """sums[0] + sums[1] += sign · row; sums[0] stays the rounded total."""
    for j in range(len(row)):
        high, error = _two_sum(sums[0, j], sign * row[j])
        low, lost = _two_sum(sums[1, j], error)
        high, error = _two_sum(high, low)
        sums[0, j] = high
        sums[1, j] = error + lost


@compiled
def sum_rows(rows: Floats) -> Floats:
    sums = np.zeros((2, rows.shape[1]))
    for i in range(len(rows)):
        add_row(sums, rows[i], 1.0)
    return sums


# Equal records stand at one place: each place keeps its records in a queue, lowest record number first.
#
# MDAV breaks ties by record number, so among equal records the lowest number always leaves first. A place is
# therefore a queue, and searches look at places only: tables full of duplicates cost no more than their
# distinct rows.


class CellPlaces(NamedTuple):
    """Distinct rows, and which records stand there: queue[head[p]:end[p]] in record order."""

    first: Whole
    queue: Whole
    head: Whole
    end: Whole


@compiled
def find_places(words: Words) -> CellPlaces:
    """Group equal rows of `words` by an open hash table; places are numbered by first appearance."""
    n, width = words.shape
    slots = 4
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, -1, np.int64)
    place_of = np.empty(n, np.int64)
    first = np.empty(n, np.int64)
    places = 0
    for i in range(n):
        h = np.uint64(0x9E3779B97F4A7C15)
        for j in range(width):
            h = (h ^ words[i, j]) * np.uint64(0xFF51AFD7ED558CCD)
            h ^= h >> np.uint64(32)
        slot = np.int64(h & np.uint64(slots - 1))
        while True:
            p = table[slot]
            if p < 0:
                table[slot] = places
                first[places] = i
                place_of[i] = places
                places += 1
                break
            same = True
            for j in range(width):
                if words[first[p], j] != words[i, j]:
                    same = False
                    break
            if same:
                place_of[i] = p
                break
            slot = (slot + 1) & (slots - 1)
    end = np.zeros(places, np.int64)
    for i in range(n):
        end[place_of[i]] += 1
    total = 0
    for p in range(places):
        total += end[p]
        end[p] = total
    head = end.copy()
    queue = np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        p = place_of[i]
        head[p] -= 1
        queue[head[p]] = i
    return CellPlaces(first[:places].copy(), queue, head, end)


# The distances MDAV compares, computed in one way only, so that indexes and full scans agree bit by bit.
#
# Both are summed over the attributes from left to right. The least distance to a box takes the same operations
# in the same order as the distance to a place. Rounding is monotone, so the computed bound never exceeds the
# computed distance of a place inside: pruning needs no tolerance, and ties are decided as a full scan would.
#
# A block is attribute × slot, so one pass computes the distances of all its slots with vector instructions. Its
# width is read from the array on purpose: a constant would be unrolled into scalar code.


@compiled
def squared_distances(block: Floats, at: Floats, out: Floats) -> None:
    """Σ (x_j - at_j)² for every slot; NaN for an empty one."""
    attributes, width = block.shape
    for t in range(width):
        out[t] = 0.0
    for j in range(attributes):
        centre = at[j]
        for t in range(width):
            gap = block[j, t] - centre
            out[t] += gap * gap


@compiled
def box_distances(boxes: Floats, at: Floats, out: Floats) -> None:
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


# An order of places in which neighbours in space are neighbours in memory.
#
# As in a kd-tree, each range is cut across its widest attribute, but cuts fall on multiples of the leaf width,
# so leaves are full and the tree itself need not be kept: leaf l holds positions l·width … (l+1)·width - 1.

_SAMPLE = 64


@compiled
def _widest(points: Floats, order: Whole, start: int, stop: int) -> int:
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


@compiled
def _select(keys: Floats, order: Whole, start: int, stop: int, middle: int) -> None:
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


@compiled
def kd_order(points: Floats, places: Whole, width: int) -> Whole:
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


# Boxes of boxes around places that disappear, 32 at a time.
#
# Leaves hold `WIDTH` places near one another; `WIDTH` leaves form a branch. Each has its bounding box, which
# shrinks as places empty, so that a search sees only those who are left.

WIDTH = 32


class NearestIndex(NamedTuple):
    """Places by leaf, leaves' boxes by branch, branches' boxes in a list padded to whole blocks."""

    coordinates: Floats  # leaf × attribute × slot; NaN where nobody is left
    place: Whole  # leaf × slot
    leaf_boxes: Floats  # branch × (low, high) × attribute × leaf; empty boxes are (inf, -inf)
    branch_boxes: Floats  # block × (low, high) × attribute × branch
    position: Whole  # place → leaf · WIDTH + slot, -1 once nobody is left
    scratch: Floats  # three rows of WIDTH distances
    found_bound: Floats  # scratch: leaves worth a visit
    found_leaf: Whole


def by_attribute(rows: Floats, slots: Whole, blocks: int) -> Floats:
    """Rows put into their slots, as block × attribute × slot; slots without a row are NaN."""
    padded = np.full((blocks * WIDTH, rows.shape[1]), np.nan)
    padded[slots] = rows
    return np.ascontiguousarray(padded.reshape(blocks, WIDTH, rows.shape[1]).transpose(0, 2, 1))


def build_nearest(points: Floats, alive: Whole) -> NearestIndex:
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


def _empty_boxes(groups: int, attributes: int) -> Floats:
    boxes = np.full((groups, 2, attributes, WIDTH), np.inf)
    boxes[:, 1] = -np.inf
    return boxes


@compiled
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


@compiled
def _fit_branch(index: NearestIndex, branch: int, j: int) -> None:
    boxes, box, at = index.leaf_boxes, index.branch_boxes, branch % WIDTH
    low, high = np.inf, -np.inf
    for t in range(boxes.shape[3]):
        low = min(low, boxes[branch, 0, j, t])
        high = max(high, boxes[branch, 1, j, t])
    box[branch // WIDTH, 0, j, at] = low
    box[branch // WIDTH, 1, j, at] = high


@compiled
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
