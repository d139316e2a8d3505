"""Exact nearest and farthest records for MDAV: compiled loops over boxes and shells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.chain.partition._compiled import compiled, compiled_inline
from coterie.chain.partition._mdav_index import (
    HALF_A_STEP,
    OUTWARD,
    WIDTH,
    Bound,
    CellPlaces,
    NearestIndex,
    limit_for,
    round_down,
)
from coterie.schema.arrays import Floats, Singles, Whole

# The k-1 nearest so far, as a max-heap on (squared distance, record number): the worst one is at the top.
#
# Order by the pair, never by distance alone, so ties always go to the lowest record number.

NO_RECORD = np.iinfo(np.int64).max


@compiled_inline
def is_before(distance: float, record: int, other_distance: float, other_record: int) -> bool:
    return distance < other_distance or (distance == other_distance and record < other_record)


@compiled
def clear(distances: Floats, records: Whole, places: Whole) -> None:
    """A full heap of nobodies: every real record is nearer."""
    distances[:] = np.inf
    records[:] = NO_RECORD
    places[:] = -1


@compiled
def replace_worst(
    distances: Floats, records: Whole, places: Whole, distance: float, record: int, place: int
) -> None:
    size = len(distances)
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and is_before(
            distances[child], records[child], distances[child + 1], records[child + 1]
        ):
            child += 1
        if not is_before(distance, record, distances[child], records[child]):
            break
        distances[hole] = distances[child]
        records[hole] = records[child]
        places[hole] = places[child]
        hole = child
    distances[hole] = distance
    records[hole] = record
    places[hole] = place


# Exact nearest neighbours: nearly best first, boxes before their contents.

# Shares of the first reach at which leaves are visited: almost sorted, without the cost of sorting.
_ROUNDS = (0.125, 0.25, 0.5, 1.0)


@compiled_inline
def _box_distances(boxes: Singles, group: int, reach: Singles, out: Singles) -> None:
    """At most Σ (gap between at_j and the box)² for every slot of the group; inf for an empty box (inf, -inf)."""
    _, _, attributes, width = boxes.shape
    for t in range(width):
        out[t] = 0.0
    for j in range(attributes):
        down, up = reach[0, j], reach[1, j]
        for t in range(width):
            below = boxes[group, 0, j, t] - up
            above = down - boxes[group, 1, j, t]
            gap = below if below > above else above
            gap = gap if gap > np.float32(0.0) else np.float32(0.0)
            out[t] += gap * gap


@compiled
def _visit_leaves(
    index: NearestIndex,
    found: int,
    inner: Bound,
    outer: Bound,
    points: Floats,
    leader: int,
    places: CellPlaces,
    distances: Floats,
    records: Whole,
    chosen: Whole,
) -> None:
    """Look into the leaves found whose bounds lie above `inner`, up to `outer`. One call for many: calls cost as much."""
    codes, frames, near = index.codes, index.frames, index.scratch[1]
    attributes, width = codes.shape[1], codes.shape[2]
    limit = limit_for(distances[0], attributes)
    for i in range(found):
        if not (inner < index.found_bound[i] <= outer and index.found_bound[i] <= limit):
            continue
        leaf = index.found_leaf[i]
        for t in range(width):
            near[t] = 0.0
        for j in range(attributes):
            step = frames[leaf, 1, j]
            offset = np.float32(frames[leaf, 0, j] - points[leader, j])
            slack = np.float32(HALF_A_STEP * step + 2.0 * OUTWARD * abs(offset))
            for t in range(width):
                gap = abs(np.float32(codes[leaf, j, t]) * step + offset) - slack
                gap = gap if gap > np.float32(0.0) else np.float32(0.0)
                near[t] += gap * gap
        count = 0
        for t in range(width):
            count += near[t] <= limit
        if count == 0:
            continue
        for slot in range(width):
            p = leaf * WIDTH + slot
            if near[slot] > limit or p >= len(places.head) or places.head[p] == places.end[p]:
                continue
            distance = 0.0
            for j in range(attributes):  # from left to right, as a full scan adds
                gap = points[p, j] - points[leader, j]
                distance += gap * gap
            if distance > distances[0]:
                continue
            for position in range(places.head[p], places.end[p]):
                record = places.queue[position]
                if not is_before(distance, record, distances[0], records[0]):
                    break
                replace_worst(distances, records, chosen, distance, record, p)
            limit = limit_for(distances[0], attributes)


@compiled
def _collect_leaves(index: NearestIndex, home: int, limit: Bound) -> int:
    """List the leaves outside the branch `home` whose boxes come as near as `limit`; returns how many."""
    branch_bounds, leaf_bounds = index.scratch[0], index.scratch[1]
    found = 0
    for block in range(len(index.branch_boxes)):
        _box_distances(index.branch_boxes, block, index.reach, branch_bounds)
        for b in range(len(branch_bounds)):
            branch = block * WIDTH + b
            if branch_bounds[b] <= limit and branch_bounds[b] < np.inf and branch != home:
                found = _add_branch(index, branch, found, limit, leaf_bounds)
    return found


@compiled_inline
def _add_branch(index: NearestIndex, branch: int, found: int, limit: Bound, bounds: Singles) -> int:
    """List the leaves of a branch behind the `found` first ones."""
    _box_distances(index.leaf_boxes, branch, index.reach, bounds)
    for t in range(len(bounds)):
        # Written always, kept only if near: cheaper than a branch nobody can predict.
        index.found_bound[found] = bounds[t]
        index.found_leaf[found] = branch * WIDTH + t
        found += bounds[t] <= limit and bounds[t] < np.inf
    return found


@compiled
def find_nearest(
    index: NearestIndex,
    points: Floats,
    leader: int,
    places: CellPlaces,
    distances: Floats,
    records: Whole,
    chosen: Whole,
) -> None:
    """Fill the (cleared) heap with the records nearest to the place `leader`."""
    attributes = points.shape[1]
    for j in range(attributes):
        index.reach[0, j], index.reach[1, j] = round_down(points[leader, j]), -round_down(-points[leader, j])
    # The leader's own leaf and branch first: they give a bound that prunes most of the others.
    home = leader // WIDTH
    index.found_bound[0], index.found_leaf[0] = 0.0, home
    _visit_leaves(index, 1, -1.0, 0.0, points, leader, places, distances, records, chosen)
    found = _add_branch(index, home // WIDTH, 0, limit_for(distances[0], attributes), index.scratch[0])
    for i in range(found):
        if index.found_leaf[i] == home:
            index.found_bound[i] = np.inf
    _visit_leaves(index, found, -1.0, 1e38, points, leader, places, distances, records, chosen)
    # Rounds of widening reach; each leaf is visited in one of them, or in none.
    limit = limit_for(distances[0], attributes)
    found = _collect_leaves(index, home // WIDTH, limit)
    inner: Bound = -1.0
    for share in _ROUNDS:
        outer = limit * share
        _visit_leaves(index, found, inner, outer, points, leader, places, distances, records, chosen)
        inner = outer


# The exact farthest record: shells around a centre, one stack of shells for each cone of directions.
#
# Seen from the centre o, a place x has a norm |x-o| and a cone: the signs of its widest attributes. With
# u = q - o and x in the cone of signs σ, the squared distance to q is
#
#     |x-o|² + |u|² - 2 (x-o)·u  ≤  |x-o|² + |u|² + 2 |x-o| c,  c² = Σ_signed max(-σ_j u_j, 0)² + Σ_others u_j²
#
# (Cauchy and Schwarz on the terms that can be positive). Inside a cone, places are stored by falling norm, so
# the search of a cone stops at the first block whose bound is below the best distance found.

_MOST_SIGNS = 10
# The bound is computed with rounding errors of a few 1e-16; this is far above them, and costs nothing.
_SAFETY = 1.0 + 1e-9
_TINY = 1e-290


class FarthestIndex(NamedTuple):
    centre: Floats
    signed: Whole  # the attributes whose signs name the cone
    coordinates: Floats  # block × attribute × slot; NaN where nobody is left
    place: Whole  # block × slot
    norms: Floats  # block × slot, falling; -1 where nobody is left
    top: Floats  # block → largest norm left, -1 if none
    first: Whole  # cone → its first block that is not empty
    stop: Whole  # cone → one past its last block
    cone_top: Floats  # cone → largest norm left, -1 if none
    cone_of: Whole  # block → cone
    position: Whole  # place → block · WIDTH + slot, -1 once nobody is left
    slopes: Floats  # scratch: 2c of every cone
    bounds: Floats  # scratch: the bound of every cone
    far: Floats  # scratch, WIDTH distances


def build_farthest(points: Floats, centre: Floats) -> FarthestIndex:
    """Index the places, rows of `points`. Any centre is correct; their centroid prunes best."""
    gaps = points - centre
    squares = gaps * gaps
    norms = np.sqrt(squares.sum(axis=1))
    signs = min(points.shape[1], _MOST_SIGNS, max(len(points) // (4 * WIDTH), 1).bit_length() - 1)
    signed = np.argsort(-squares.sum(axis=0), kind="stable")[:signs]
    cone = (gaps[:, signed] >= 0.0) @ (1 << np.arange(signs))
    order = np.lexsort((-norms, cone))
    cone = cone[order]
    sizes = np.bincount(cone, minlength=1 << signs)
    stop = np.cumsum(-(-sizes // WIDTH))
    first = stop - -(-sizes // WIDTH)
    blocks = int(stop[-1])
    rank = np.arange(len(points)) - (np.cumsum(sizes) - sizes)[cone]
    slots = first[cone] * WIDTH + rank
    place = np.full(blocks * WIDTH, -1)
    place[slots] = order
    slot_norms = np.full(blocks * WIDTH, -1.0)
    slot_norms[slots] = norms[order]
    position = np.empty(len(points), np.int64)
    position[order] = slots
    top = slot_norms[::WIDTH].copy()
    return FarthestIndex(
        centre=centre.copy(),
        signed=signed,
        coordinates=by_attribute(points[order], slots, blocks),
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


def by_attribute(rows: Floats, slots: Whole, blocks: int) -> Floats:
    """Rows put into their slots, as block × attribute × slot; slots without a row are NaN."""
    padded = np.full((blocks * WIDTH, rows.shape[1]), np.nan)
    padded[slots] = rows
    return np.ascontiguousarray(padded.reshape(blocks, WIDTH, rows.shape[1]).transpose(0, 2, 1))


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
def remove_from_farthest(index: FarthestIndex, place: int) -> None:
    block, slot = index.position[place] // WIDTH, index.position[place] % WIDTH
    index.position[place] = -1
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


@compiled
def _bound_cones(index: FarthestIndex, at: Floats) -> float:
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


@compiled
def find_farthest(index: FarthestIndex, at: Floats, places: CellPlaces) -> int:
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
