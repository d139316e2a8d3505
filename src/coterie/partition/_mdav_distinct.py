"""Equal records stand at one place: each place keeps its records in a queue, lowest record number first.

MDAV breaks ties by record number, so among equal records the lowest number always leaves first. A place is
therefore a queue, and searches look at places only: tables full of duplicates cost no more than their
distinct rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray


class Places(NamedTuple):
    """Distinct rows, and which records stand there: queue[head[p]:end[p]] in record order."""

    first: NDArray[np.int64]
    queue: NDArray[np.int64]
    head: NDArray[np.int64]
    end: NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def find_places(words: NDArray[np.uint64]) -> Places:
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
    return Places(first[:places].copy(), queue, head, end)
