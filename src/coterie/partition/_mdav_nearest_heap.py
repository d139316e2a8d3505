"""The k-1 nearest so far, as a max-heap on (squared distance, record number): the worst one is at the top.

Order by the pair, never by distance alone, so ties always go to the lowest record number.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

NO_RECORD = np.iinfo(np.int64).max


@numba.njit(cache=True, nogil=True, inline="always")
def is_before(distance: float, record: int, other_distance: float, other_record: int) -> bool:
    return distance < other_distance or (distance == other_distance and record < other_record)


@numba.njit(cache=True, nogil=True)
def clear(distances: NDArray[np.float64], records: NDArray[np.int64], places: NDArray[np.int64]) -> None:
    """A full heap of nobodies: every real record is nearer."""
    distances[:] = np.inf
    records[:] = NO_RECORD
    places[:] = -1


@numba.njit(cache=True, nogil=True)
def replace_worst(
    distances: NDArray[np.float64],
    records: NDArray[np.int64],
    places: NDArray[np.int64],
    distance: float,
    record: int,
    place: int,
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
