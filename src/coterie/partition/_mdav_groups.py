"""The loop of MDAV over both indexes, between two rebuilds of them."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from coterie.partition._mdav_boxes import NearestIndex, remove_from_nearest
from coterie.partition._mdav_centroid import add_row
from coterie.partition._mdav_distinct import Places
from coterie.partition._mdav_farthest import FarthestIndex, find_farthest, remove_from_farthest
from coterie.partition._mdav_nearest import find_nearest
from coterie.partition._mdav_nearest_heap import clear


@numba.njit(cache=True, nogil=True)
def form_groups(
    points: NDArray[np.float64],
    places: Places,
    nearest: NearestIndex,
    farthest: FarthestIndex,
    sums: NDArray[np.float64],
    labels: NDArray[np.int32],
    progress: NDArray[np.int64],
    enough: int,
    k: int,
) -> None:
    """Form groups until fewer than 2k records, or at a pair's start at most `enough` places, are left.

    `points` has one row a place. `progress` holds the records left, the places left and the groups formed.
    """
    distances, records = np.empty(k - 1), np.empty(k - 1, np.int64)
    chosen = np.empty(k, np.int64)
    centroid = np.empty(points.shape[1])
    leader = 0
    second_of_pair = False
    while progress[0] >= 2 * k and (second_of_pair or progress[1] > enough):
        if second_of_pair:
            leader = find_farthest(farthest, points[leader], places)
            second_of_pair = False
        else:
            for j in range(len(centroid)):
                centroid[j] = sums[0, j] / progress[0]
            leader = find_farthest(farthest, centroid, places)
            second_of_pair = progress[0] >= 3 * k
        # The leader leaves first, so that its k-1 nearest are others.
        chosen[k - 1] = leader
        labels[places.queue[places.head[leader]]] = progress[2]
        places.head[leader] += 1
        if k > 1:
            clear(distances, records, chosen[: k - 1])
            find_nearest(nearest, leader, points[leader], places, distances, records, chosen[: k - 1])
            for t in range(k - 1):
                labels[records[t]] = progress[2]
                places.head[chosen[t]] += 1
        for t in range(k):
            p = int(chosen[t])
            add_row(sums, points[p], -1.0)
            # A place chosen several times is empty at its first turn already.
            if places.head[p] == places.end[p] and nearest.position[p] >= 0:
                remove_from_nearest(nearest, p)
                remove_from_farthest(farthest, p)
                progress[1] -= 1
        progress[0] -= k
        progress[2] += 1
