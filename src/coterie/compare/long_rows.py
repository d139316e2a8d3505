"""Long columns: what measures ask of a cell's rows is added up while the rows are made, in one compiled loop.

Values of a long column do not fit into the cache, and reading them anew for each step of each measure costs more than
the steps. From 50,000 records on, as in `protect()`, loading compiled code pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.compare.batch import Batch
from coterie.utility.clustered import Clusters
from coterie.utility.jensen_shannon import MOST_COUNTS, Bins, bins_of
from coterie.utility.measure import Settings
from coterie.utility.released import Sums

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


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
        from coterie.compare._row_loops import add_up_rows

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
        from coterie.utility._column_loops import describe_clusters

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
