"""The compiled loops behind what measures know of a long column and its clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled, compiled_in_any_order

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_BLOCK = 1024
_FEW_BINS = 256


@compiled
def running_sums(
    values: Floats, middle: float, floor: float, relative: float, running: Floats, running_x: Floats
) -> None:
    """Σ w and Σ w·(x − middle) up to each record, as np.cumsum adds; w = 1 / max(floor, |x|), or 1 / floor (relative 0)."""
    weights, weighted = 0.0, 0.0
    for i in range(len(values)):
        weight = 1.0 / max(floor, relative * abs(values[i]))
        weights += weight
        weighted += weight * (values[i] - middle)
        running[i], running_x[i] = weights, weighted


@compiled
def describe_clusters(
    values: Floats, ends: Whole, mean: Floats, running: Floats, running_x: Floats, found: Floats
) -> float:
    """Of each cluster: Σw, Σw(x − middle), both sums before it and up to its end together, its lowest and highest value.

    Returns Σ (x − mean of its cluster)² over all records.
    """
    within, start = 0.0, 0
    before, before_x = 0.0, 0.0
    for cluster in range(len(ends)):
        end = ends[cluster]
        upto, upto_x = running[end - 1], running_x[end - 1]
        found[0, cluster], found[1, cluster] = upto - before, upto_x - before_x
        found[2, cluster], found[3, cluster] = before + upto, before_x + upto_x
        found[4, cluster], found[5, cluster] = values[start], values[end - 1]
        inside = 0.0
        for i in range(start, end):
            inside += (values[i] - mean[cluster]) ** 2
        within += inside
        before, before_x, start = upto, upto_x, end
    return within


@compiled
def find_bins(values: Floats, bins: tuple[float, float, float, bool], bin_of: NDArray[np.int32]) -> None:
    """As `Edges.places`: bins are given by their lower end, how many make a unit, the last, whether each is one value."""
    lower, per_unit, last, whole = bins
    if whole:
        for j in range(len(values)):
            bin_of[j] = np.int32(min(max(np.rint(values[j] - lower), 0.0), last))
    else:
        for j in range(len(values)):
            bin_of[j] = np.int32(min(max((values[j] - lower) * per_unit, 0.0), last))


@compiled
def count_apart() -> NDArray[np.int32]:
    """Room for `count_bins`."""
    return np.empty((4, _FEW_BINS), np.int32)


@compiled
def count_bins(bin_of: NDArray[np.int32], apart: NDArray[np.int32], counts: Whole) -> None:
    """Four quarters by turns, counted `apart`: neighbours often share a bin, and would wait for one another.

    Many bins are rarely shared, and adding up four counts of each would cost more than it saves.
    """
    quarter = len(bin_of) // 4 if len(counts) <= _FEW_BINS else 0
    if quarter:
        apart[:, : len(counts)] = 0
        for j in range(quarter):
            apart[0, np.uint32(bin_of[j])] += 1
            apart[1, np.uint32(bin_of[quarter + j])] += 1
            apart[2, np.uint32(bin_of[2 * quarter + j])] += 1
            apart[3, np.uint32(bin_of[3 * quarter + j])] += 1
        for place in range(len(counts)):
            counts[place] += apart[0, place] + apart[1, place] + apart[2, place] + apart[3, place]
    for j in range(4 * quarter, len(bin_of)):
        counts[np.uint32(bin_of[j])] += 1


@compiled
def histogram(values: Floats, rising: bool, bins: tuple[float, float, float, bool], counts: Whole) -> None:
    """Of rising values most blocks lie in one bin."""
    place, apart = np.empty(_BLOCK, np.int32), count_apart()
    for first in range(0, len(values), _BLOCK):
        end = min(first + _BLOCK, len(values))
        block, bin_of = values[first:end], place[: end - first]
        if rising:
            find_bins(block[:1], bins, bin_of[:1])
            find_bins(block[-1:], bins, bin_of[-1:])
            if bin_of[0] == bin_of[-1]:
                counts[bin_of[0]] += end - first
                continue
        find_bins(block, bins, bin_of)
        count_bins(bin_of, apart, counts)


@compiled_in_any_order
def squares_around(values: Floats, middle: float) -> float:
    """Σ (x − middle)², exactly 0 where all values are equal, whatever their mean was rounded to."""
    squares, lowest, highest = 0.0, np.inf, -np.inf
    for i in range(len(values)):
        squares += (values[i] - middle) ** 2
        lowest, highest = min(lowest, values[i]), max(highest, values[i])
    return squares if lowest < highest else 0.0
