"""The compiled loops behind what measures know of a long column and its clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_BLOCK = 1024


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
def count_bins(bin_of: NDArray[np.int32], counts: Whole) -> None:
    """Two halves by turns: neighbours often share a bin, and would wait for one another."""
    half = len(bin_of) // 2
    for j in range(half):
        counts[np.uint32(bin_of[j])] += 1
        counts[np.uint32(bin_of[half + j])] += 1
    if len(bin_of) % 2:
        counts[bin_of[-1]] += 1


@compiled
def histogram(values: Floats, bins: tuple[float, float, float, bool], counts: Whole) -> None:
    place = np.empty(_BLOCK, np.int32)
    for first in range(0, len(values), _BLOCK):
        end = min(first + _BLOCK, len(values))
        bin_of = place[: end - first]
        find_bins(values[first:end], bins, bin_of)
        count_bins(bin_of, counts)
