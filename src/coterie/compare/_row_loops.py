"""The compiled loops behind `long_rows`: values are made a block of clusters at a time and read from the nearest cache.

A block serves all rows before the next begins. Each step is a short loop of its own, so that it becomes vector
instructions; a released value is the same to the last bit as NumPy makes it, sums are added in another order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled, compiled_in_any_order
from coterie.utility._column_loops import count_apart, count_bins, find_bins

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_BLOCK = 1024


@compiled
def add_up_rows(
    made: tuple[Floats, Floats, Floats, float, float, float],
    moments: tuple[Floats, float],
    errors: tuple[Floats, Floats, Floats, Floats],
    inside: tuple[Whole, Whole, Floats, Floats, Floats, Floats, Floats],
    bins: tuple[float, float, float, bool],
    sums: Floats,
    counts: Whole,
) -> None:
    """Add to the sums of each row: squared gaps, distances from the mean, their squares, weighted errors. Count bins.

    `centres` and `scales` have a line a cell, `units` a line a run; rows are the runs of the first cell, then of the next.
    """
    centres, scales, units, lower, upper, per_unit = made
    mean, middle = moments
    weight, weighted, lowest, highest = errors
    released, place = np.empty(_BLOCK), np.empty(_BLOCK, np.int32)
    among, apart = np.zeros(_BLOCK, np.uint8), count_apart()
    for first in range(0, len(mean), _BLOCK):
        end = min(first + _BLOCK, len(mean))
        values, bin_of = released[: end - first], place[: end - first]
        among[end - first :] = 0
        for row in range(len(centres) * len(units)):
            cell, run = row // len(units), row % len(units)
            centre, scale, unit = centres[cell, first:end], scales[cell, first:end], units[run, first:end]
            _release(centre, scale, unit, lower, upper, per_unit, values)
            squares, shift, spread = _moments(values, mean[first:end], middle)
            sums[0, row] += squares
            sums[1, row] += shift
            sums[2, row] += spread
            sums[3, row] += _beyond(
                values,
                weight[first:end],
                weighted[first:end],
                lowest[first:end],
                highest[first:end],
                among,
            )
            sums[3, row] += _among(values, middle, first, among, inside)
            if counts.shape[1]:
                find_bins(values, bins, bin_of)
                count_bins(bin_of, apart, counts[row])


@compiled
def _release(
    centre: Floats, scale: Floats, unit: Floats, lower: float, upper: float, per_unit: float, values: Floats
) -> None:
    """As `numbers._values` and `Batch.publish`; per_unit is 0 where values come in no steps."""
    for j in range(len(values)):
        values[j] = min(max(centre[j] + unit[j] * scale[j], lower), upper)
    if per_unit > 0:
        for j in range(len(values)):
            values[j] = min(max(np.rint(values[j] * per_unit) / per_unit, lower), upper)


@compiled_in_any_order
def _moments(values: Floats, mean: Floats, middle: float) -> tuple[float, float, float]:
    squares, shift, spread = 0.0, 0.0, 0.0
    for j in range(len(values)):
        gap, distance = values[j] - mean[j], values[j] - middle
        squares += gap * gap
        shift += distance
        spread += distance * distance
    return squares, shift, spread


@compiled_in_any_order
def _beyond(
    values: Floats,
    weight: Floats,
    weighted: Floats,
    lowest: Floats,
    highest: Floats,
    among: NDArray[np.uint8],
) -> float:
    """The weighted errors of values that lie beyond their cluster; the others are marked."""
    error = 0.0
    for j in range(len(values)):
        inside = (values[j] > lowest[j]) & (values[j] < highest[j])
        error += 0.0 if inside else abs(values[j] * weight[j] - weighted[j])
        among[j] = inside
    return error


@compiled
def _among(
    values: Floats,
    middle: float,
    first: int,
    among: NDArray[np.uint8],
    inside: tuple[Whole, Whole, Floats, Floats, Floats, Floats, Floats],
) -> float:
    """The weighted errors of the marked: running sums are split at the last record below, found by bisection."""
    start, size, both, both_x, records, running, running_x = inside
    error = 0.0
    eights = among.view(np.uint64)
    for eight in range(len(eights)):
        if eights[eight] == 0:
            continue
        for j in range(8 * eight, 8 * eight + 8):
            if not among[j]:
                continue
            value, cluster = values[j], first + j
            at, left = start[cluster], size[cluster]
            while left > 1:
                half = left >> 1
                if records[at + half] < value:
                    at += half
                left -= half
            weight, weighted = 2 * running[at] - both[cluster], 2 * running_x[at] - both_x[cluster]
            error += weight * (value - middle) - weighted
    return error
