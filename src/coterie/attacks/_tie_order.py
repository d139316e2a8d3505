"""The order of shuffled rows, from ties alone and knowing nobody: colour refinement on who shares groups with whom.

The rank groups of the original and the tie groups of an uncut release are the same sets of people under other names.
Two people start with the same colour if equally many others share two groups with them, for every pair of attributes.
A group's colour is that of its members, a person's that of their groups, and so on until nothing splits further. If the
colours of both sides then agree, one for one, the rows are in the order found: chance does not make all groups agree.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from coterie.attacks._hashing import Words, mixed
from coterie.attacks.evidence import Rows, Seen
from coterie.partition.individual_ranking import individual_ranking

_ROUNDS = 8


def order_from_ties(attributes: tuple[Seen, ...], k: int) -> Rows | None:
    """For each person the row that is theirs, or None where ties do not tell. Identical rows are interchangeable."""
    numbers = [a for a in attributes if a.protected and a.is_number]
    people, rows = len(attributes[0].original), len(attributes[0].released)
    if people != rows or len(numbers) < 2 or not 2 <= k <= people // 2:
        return None
    mine, theirs = [], []
    for attribute in numbers:
        ranked = individual_ranking(attribute.original, k).labels.astype(np.int64)
        tied = np.unique(attribute.released, return_inverse=True)[1].astype(np.int64)
        if np.array_equal(np.sort(np.bincount(ranked)), np.sort(np.bincount(tied))):
            mine.append(ranked)
            theirs.append(tied)
    if len(mine) < 2:
        return None  # groups were cut or rounded together
    left, right = _refined(mine), _refined(theirs)
    by_left, by_right = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    if not np.array_equal(left[by_left], right[by_right]):
        return None
    if len(np.unique(left)) < people / 2:
        return None  # too symmetric to tell people apart
    truth = np.empty(people, dtype=np.int64)
    truth[by_left] = by_right
    return truth


def _refined(groups: list[NDArray[np.int64]]) -> Words:
    colours = np.zeros(len(groups[0]), dtype=np.uint64)
    for number, (a, b) in enumerate(combinations(groups, 2)):
        shared = np.unique(a * (int(b.max()) + 1) + b, return_inverse=True, return_counts=True)
        colours += mixed(shared[2][shared[1]], number)
    distinct = len(np.unique(colours))
    for _ in range(_ROUNDS):
        fresh = mixed(colours, 1000)
        for number, group in enumerate(groups):
            total = np.zeros(int(group.max()) + 1, dtype=np.uint64)
            np.add.at(total, group, mixed(colours, 2000))  # a sum does not depend on the members' order
            fresh += mixed(total[group], 3000 + number)
        colours = fresh
        now = len(np.unique(colours))
        if now == distinct:
            break
        distinct = now
    return colours
