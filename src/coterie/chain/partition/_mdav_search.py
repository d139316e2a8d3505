"""Exact nearest and farthest records for MDAV: compiled loops over boxes and shells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.chain.partition._compiled import compiled, compiled_inline
from coterie.chain.partition._mdav_index import (
    WIDTH,
    CellPlaces,
    NearestIndex,
    box_distances,
    by_attribute,
    squared_distances,
)
from coterie.schema.arrays import Floats, Whole

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
def _any_up_to(values: Floats, limit: float) -> bool:
    least = np.inf
    for t in range(len(values)):
        least = values[t] if values[t] < least else least
    return least <= limit


@compiled
def _visit_leaf(
    index: NearestIndex,
    leaf: int,
    at: Floats,
    places: CellPlaces,
    distances: Floats,
    records: Whole,
    chosen: Whole,
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


@compiled
def _collect_leaves(index: NearestIndex, at: Floats, home: int, worst: float) -> int:
    """List the leaves outside the branch `home` whose boxes come as near as `worst`; returns how many."""
    branch_bounds, leaf_bounds = index.scratch[0], index.scratch[1]
    found = 0
    for block in range(len(index.branch_boxes)):
        box_distances(index.branch_boxes[block], at, branch_bounds)
        for b in range(len(branch_bounds)):
            branch = block * WIDTH + b
            if branch_bounds[b] <= worst and branch_bounds[b] < np.inf and branch != home:
                box_distances(index.leaf_boxes[branch], at, leaf_bounds)
                for t in range(len(leaf_bounds)):
                    # Written always, kept only if near: cheaper than a branch nobody can predict.
                    index.found_bound[found] = leaf_bounds[t]
                    index.found_leaf[found] = branch * WIDTH + t
                    found += leaf_bounds[t] <= worst
    return found


@compiled
def find_nearest(
    index: NearestIndex,
    leader: int,
    at: Floats,
    places: CellPlaces,
    distances: Floats,
    records: Whole,
    chosen: Whole,
) -> None:
    """Fill the (cleared) heap with the records nearest to `at`, the coordinates of place `leader`."""
    home = index.position[leader] // WIDTH
    first = home // WIDTH * WIDTH
    # The leader's own leaf and branch first: they give a bound that prunes most of the others.
    _visit_leaf(index, home, at, places, distances, records, chosen)
    box_distances(index.leaf_boxes[home // WIDTH], at, index.scratch[1])
    for t in range(WIDTH):
        if index.scratch[1, t] <= distances[0] and index.scratch[1, t] < np.inf and first + t != home:
            _visit_leaf(index, first + t, at, places, distances, records, chosen)
    found = _collect_leaves(index, at, home // WIDTH, distances[0])
    # Rounds of widening reach; each leaf is visited in one of them, or in none.
    reach = distances[0]
    inner = -1.0
    for share in _ROUNDS:
        outer = reach * share
        for i in range(found):
            bound = index.found_bound[i]
            if inner < bound <= outer and bound <= distances[0]:
                _visit_leaf(index, index.found_leaf[i], at, places, distances, records, chosen)
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
    position: Whole  # place → block · WIDTH + slot
    slopes: Floats  # scratch: 2c of every cone
    bounds: Floats  # scratch: the bound of every cone
    far: Floats  # scratch, WIDTH distances


def build_farthest(points: Floats, alive: Whole, centre: Floats) -> FarthestIndex:
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


@compiled
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
