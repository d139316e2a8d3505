"""The compiled loops behind `long_rows`: values are made a block of clusters at a time and read from the nearest cache.

A block serves all rows before the next begins. Each step is a short loop of its own, so that it becomes vector
instructions; a released value is the same to the last bit as NumPy makes it, sums are added in another order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled, compiled_in_any_order
from coterie.comparison.batch import Batch
from coterie.evaluation._column_loops import count_apart, count_bins, find_bins
from coterie.evaluation.clustered import Clusters
from coterie.evaluation.jensen_shannon import MOST_COUNTS, Bins, bins_of
from coterie.evaluation.measure import Settings
from coterie.evaluation.released import Sums

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


# Long columns: what measures ask of a cell's rows is added up while the rows are made, in one compiled loop.
#
# Values of a long column do not fit into the cache, and reading them anew for each step of each measure costs more than
# the steps. From 50,000 records on, as in `protect()`, loading compiled code pays.


@dataclass(frozen=True)
class LongRows:
    """One long attribute cut into clusters, seen by every cell."""

    batch: Batch
    clusters: Clusters  # as measures see them
    settings: Settings
    counted: bool  # whether a measure asks for the histogram

    @cached_property
    def most_rows(self) -> int:
        """How many histograms are held at a time."""
        return MOST_COUNTS // len(self._bins.before) if self.counted else MOST_COUNTS

    def add_up(self, centres: Floats, scales: Floats, units: Floats) -> Sums:
        """Of the rows centre + scale · unit, clipped and rounded: a line of centres and scales a cell, of units a run."""
        from coterie.comparison.long_rows import add_up_rows

        limits, bins, known = self.batch.release_limits(0), self._bins, self._known
        rows = len(centres) * len(units)
        width = len(bins.before) if self.counted else 0
        sums, counts = np.zeros((4, rows)), np.zeros((rows, width), dtype=np.int64)
        middle = self.clusters.numbers.mean.item()
        add_up_rows(
            (centres, scales, units, *limits),
            (self.clusters.mean[0], middle),
            known.errors,
            known.inside,
            bins.edges.single,
            sums,
            counts,
        )
        usual = self.clusters.usual
        sums[:3] *= usual
        counts *= usual
        other = self.clusters.unusual
        if len(other):
            values = (units[:, other] * scales[:, None, other] + centres[:, None, other]).reshape(1, rows, -1)
            self.batch.publish(values)
            more = self.clusters.size[other] - usual
            gap, distance = values[0] - self.clusters.mean[0, other], values[0] - middle
            sums[:3] += (gap * gap) @ more, distance @ more, (distance * distance) @ more
            if width:
                np.add.at(counts, (np.arange(rows)[:, None], bins.edges.places(values)[0]), more)
        squares, shift, spread, weighted = sums[:, None]
        return Sums(known.within + squares, shift, spread, weighted, counts if width else None)

    @cached_property
    def _bins(self) -> Bins:
        return bins_of(self.clusters.numbers, self.settings, self.clusters.arranged)

    @cached_property
    def _known(self) -> _Known:
        clusters, records = self.clusters, self.clusters.arranged.values[0]
        if clusters.alone:  # no value lies inside its cluster
            weights = clusters.arranged.weights[0]
            inside = (clusters.starts, clusters.size, records, records, records, records, records)
            return _Known(0.0, (weights, weights * records, records, records), inside)
        from coterie.evaluation._column_loops import describe_clusters

        running, running_x = (sums[0] for sums in clusters.arranged.running)
        found = np.empty((6, len(clusters.size)))
        within = describe_clusters(records, clusters.ends, clusters.mean[0], running, running_x, found)
        weight, weighted, both, both_x, lowest, highest = found
        weighted += clusters.numbers.mean.item() * weight
        inside = (clusters.starts, clusters.size, both, both_x, records, running, running_x)
        return _Known(within, (weight, weighted, lowest, highest), inside)


@dataclass(frozen=True, slots=True)
class _Known:
    """What does not change from cell to cell."""

    within: float  # Σ (x − mean of its cluster)²
    # Σw and Σwx of each cluster, its lowest and highest value.
    errors: tuple[Floats, Floats, Floats, Floats]
    # Where each cluster begins, its size, and what its running sums are split by.
    inside: tuple[Whole, Whole, Floats, Floats, Floats, Floats, Floats]
