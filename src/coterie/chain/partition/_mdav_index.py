"""What MDAV still has to place, and its search structure: equal records, their sum, and boxes in the order of a k-d tree."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from coterie.chain.partition._compiled import compiled, compiled_for_finite, compiled_inline
from coterie.errors import DataError, ParameterError
from coterie.schema.arrays import Bytes, Floats, Singles, Whole, Words

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
#
# A search waits for memory, so it reads little: a byte per coordinate, the multiple of the leaf's step above the leaf's
# lowest value, and boxes in single precision, rounded outward. Both give distances that are never too long: coordinates
# are off by half a step at most, and every bound is compared with a limit that allows for rounding (`limit_for`).
# Only places that pass are looked up in full precision, so groups are those of a full scan.

WIDTH = 32
LARGEST_SCALED = 41  # exponent of two: squares neither overflow in single precision nor vanish
OUTWARD = 2.0**-23  # more than half a unit in the last place, in single precision
HALF_A_STEP = 0.5001  # with the rounding of code · step, which is at most 255 steps


Bound: TypeAlias = np.float32 | float


class NearestIndex(NamedTuple):
    """Place p is in slot p % WIDTH of leaf p // WIDTH; leaves' boxes by branch, branches' boxes in padded blocks."""

    codes: Bytes  # leaf × attribute × slot; an empty slot repeats another of its leaf
    frames: Singles  # leaf × (lowest, step) × attribute
    leaf_boxes: Singles  # branch × (low, high) × attribute × leaf; empty boxes are (inf, -inf)
    branch_boxes: Singles  # block × (low, high) × attribute × branch
    scratch: Singles  # two rows of WIDTH distances
    reach: Singles  # scratch: the point searched from, rounded down and up
    found_bound: Singles  # scratch: leaves worth a visit
    found_leaf: Whole


@compiled_inline
def limit_for(squared: float, attributes: int) -> np.float32:
    """What a bound in single precision does not exceed if the distance does not exceed `squared`."""
    return np.float32(squared * (1.0 + (attributes + 8) * OUTWARD) + 1e-36)


def rearranged(points: Floats, places: CellPlaces) -> tuple[Floats, CellPlaces]:
    """The places where somebody is left, numbered anew: those that a search reads together stand together."""
    order = kd_order(points, np.flatnonzero(places.head < places.end), WIDTH)
    sizes = (places.end - places.head)[order]
    end = np.cumsum(sizes)
    head = end - sizes
    queue = places.queue[np.repeat(places.head[order] - head, sizes) + np.arange(len(sizes) and end[-1])]
    return points[order], CellPlaces(places.first[order], queue, head, end)


def build_nearest(points: Floats) -> NearestIndex:
    """Index the places, rows of `points`, in the order of `rearranged`."""
    attributes = points.shape[1]
    leaves = -(-len(points) // WIDTH)
    branches = -(-leaves // WIDTH)
    index = NearestIndex(
        codes=np.empty((leaves, attributes, WIDTH), np.uint8),
        frames=np.empty((leaves, 2, attributes), np.float32),
        leaf_boxes=_empty_boxes(branches, attributes),
        branch_boxes=_empty_boxes(-(-branches // WIDTH), attributes),
        scratch=np.empty((2, WIDTH), np.float32),
        reach=np.empty((2, attributes), np.float32),
        found_bound=np.empty(branches * WIDTH + 1, np.float32),
        found_leaf=np.empty(branches * WIDTH + 1, np.int64),
    )
    _encode(index, points)
    return index


def _empty_boxes(groups: int, attributes: int) -> Singles:
    boxes = np.full((groups, 2, attributes, WIDTH), np.inf, np.float32)
    boxes[:, 1] = -np.inf
    return boxes


@compiled
def _encode(index: NearestIndex, points: Floats) -> None:
    codes, frames = index.codes, index.frames
    for leaf in range(len(codes)):
        first, stop = leaf * WIDTH, min(leaf * WIDTH + WIDTH, len(points))
        for j in range(points.shape[1]):
            low, high = np.inf, -np.inf
            for p in range(first, stop):
                low, high = min(low, points[p, j]), max(high, points[p, j])
            frames[leaf, 0, j] = round_down(low)
            frames[leaf, 1, j] = np.float32((high - frames[leaf, 0, j]) * (1.0 / 254.9) + 1e-30)
            for slot in range(codes.shape[2]):
                value = points[min(first + slot, stop - 1), j]
                codes[leaf, j, slot] = np.uint8((value - frames[leaf, 0, j]) / frames[leaf, 1, j] + 0.5)
        _fit(index, leaf, True)


@compiled_inline
def round_down(value: float) -> np.float32:
    return np.float32(value - abs(value) * OUTWARD)


@compiled_for_finite
def _fit(index: NearestIndex, leaf: int, anybody: bool) -> None:
    """The boxes of a leaf and of its branch, around the places left."""
    branch, at = leaf // WIDTH, leaf % WIDTH
    inner, outer = index.leaf_boxes[branch], index.branch_boxes[branch // WIDTH]
    for j in range(index.codes.shape[1]):
        least, most = np.uint8(255), np.uint8(0)
        for t in range(index.codes.shape[2]):
            code = index.codes[leaf, j, t]
            least = code if code < least else least
            most = code if code > most else most
        lowest, step = np.float64(index.frames[leaf, 0, j]), np.float64(index.frames[leaf, 1, j])
        low = round_down(lowest + (least - HALF_A_STEP) * step) if anybody else np.float32(np.inf)
        high = -round_down(-lowest - (most + HALF_A_STEP) * step) if anybody else np.float32(-np.inf)
        if low != inner[0, j, at] or high != inner[1, j, at]:
            inner[0, j, at], inner[1, j, at] = low, high
            for t in range(inner.shape[2]):
                low = inner[0, j, t] if inner[0, j, t] < low else low
                high = inner[1, j, t] if inner[1, j, t] > high else high
            outer[0, j, branch % WIDTH], outer[1, j, branch % WIDTH] = low, high


@compiled
def remove_from_nearest(index: NearestIndex, places: CellPlaces, place: int) -> None:
    """Nobody is left at this place; the boxes around it shrink to those who are."""
    leaf = place // WIDTH
    for other in range(leaf * WIDTH, min(leaf * WIDTH + WIDTH, len(places.head))):
        if places.head[other] < places.end[other]:
            for slot in range(place % WIDTH, WIDTH):
                if leaf * WIDTH + slot == place or leaf * WIDTH + slot >= len(places.head):
                    for j in range(index.codes.shape[1]):
                        index.codes[leaf, j, slot] = index.codes[leaf, j, other % WIDTH]
            _fit(index, leaf, True)
            return
    _fit(index, leaf, False)
