"""Noisy tables along a tree → bins of synthetic rows → ranks. Reads no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.noise.sampler import Sampler
from coterie.synthesis.synthesis import Ranks

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def down_the_tree(
    shares: Sequence[Floats], tables: Mapping[tuple[int, int], Floats], rows: int, sampler: Sampler
) -> list[Ranks]:
    """Attribute 0 by its share, then each neighbour given the attribute it hangs on; ranks are random inside a bin."""
    bins: dict[int, Whole] = {
        0: _cut(_uniform(sampler, rows, 0), np.broadcast_to(shares[0], (1, len(shares[0]))))
    }
    waiting = dict(tables)
    while waiting:
        a, b = next(pair for pair in waiting if (pair[0] in bins) != (pair[1] in bins))
        table = waiting.pop((a, b))
        known, new = (a, b) if a in bins else (b, a)
        given = table if known == a else table.T
        bins[new] = _cut(_uniform(sampler, rows, new), given, bins[known])
    ranks = []
    for number in range(len(shares)):
        words = sampler.uniform_words(rows, f"coterie: attribute {number} inside its bins")
        place = np.empty(rows, dtype=np.int64)
        place[np.lexsort((words, bins[number]))] = np.arange(rows)
        ranks.append(place)
    return ranks


def _cut(uniform: Floats, weights: Floats, given: Whole | None = None) -> Whole:
    """Row i draws from line `given[i]` of the weights, by inverting its distribution function."""
    ends = np.cumsum(weights, axis=1)
    lines = np.zeros(len(uniform), dtype=np.int64) if given is None else given
    target = uniform * ends[lines, -1]
    found = np.empty(len(uniform), dtype=np.int64)
    for line in range(len(ends)):
        members = lines == line
        found[members] = np.searchsorted(ends[line, :-1], target[members], side="right")
    return found


def _uniform(sampler: Sampler, rows: int, attribute: int) -> Floats:
    words = sampler.uniform_words(rows, f"coterie: bins of attribute {attribute}")
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
