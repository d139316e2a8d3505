"""Exact nearest neighbours: nearly best first, boxes before their contents."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from coterie.partition._mdav_boxes import WIDTH, NearestIndex
from coterie.partition._mdav_distance import box_distances, squared_distances
from coterie.partition._mdav_distinct import Places
from coterie.partition._mdav_nearest_heap import is_before, replace_worst

# Shares of the first reach at which leaves are visited: almost sorted, without the cost of sorting.
_ROUNDS = (0.125, 0.25, 0.5, 1.0)


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
