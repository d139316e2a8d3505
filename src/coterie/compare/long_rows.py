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
from coterie.utility.clustered import Clusters, Sums
from coterie.utility.jensen_shannon import Bins, bins_of
from coterie.utility.measure import Settings

Floats = NDArray[np.float64]
MOST_COUNTS = 4_000_000  # bins of all rows


@dataclass(frozen=True)
class LongRows:
    """One long attribute cut into clusters, seen by every cell."""

    batch: Batch
    clusters: Clusters  # as measures see them
    settings: Settings
    counted: bool  # whether a measure asks for the histogram

    def add_up(self, centre: Floats, scale: Floats, unit: Floats) -> Sums:
        """Of the rows centre + scale · unit, clipped and rounded; `unit` has a row a run."""
        from coterie.compare._row_loops import add_up_rows

        lower, upper, per_unit = self.batch.release_limits(0)
        bins = self._bins
        width = len(bins.before) if self.counted and len(unit) * len(bins.before) <= MOST_COUNTS else 0
        sums, counts = np.zeros((4, len(unit))), np.zeros((len(unit), width), dtype=np.int64)
        middle = float(self.clusters.numbers.mean[0, 0])
        edges = bins.edges
        limits = (float(edges.lower.item()), float(edges.per_unit.item()), float(edges.last.item()))
        add_up_rows(
            (centre, scale, unit, lower, upper, per_unit),
            (self.clusters.mean[0], middle),
            self._errors,
            self._inside,
            (*limits, bool(edges.whole)),
            sums,
            counts,
        )
        usual = self.clusters.usual
        sums[:3] *= usual
        counts *= usual
        other = self.clusters.unusual
        if len(other):
            values = unit[None, :, other] * scale[other] + centre[other]
            self.batch.publish(values)
            more = self.clusters.size[other] - usual
            gap, distance = values[0] - self.clusters.mean[0, other], values[0] - middle
            sums[:3] += (gap * gap) @ more, distance @ more, (distance * distance) @ more
            if width:
                np.add.at(counts, (np.arange(len(unit))[:, None], edges.places(values)[0]), more)
        squares, shift, spread, weighted = sums[:, None]
        return Sums(squares, shift, spread, weighted, counts if width else None)

    @cached_property
    def _bins(self) -> Bins:
        return bins_of(self.clusters.numbers, self.settings)

    @cached_property
    def _errors(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Σw and Σwx of each cluster, its lowest and its highest value."""
        clusters = self.clusters
        if clusters.alone:
            weights, values = clusters.arranged.weights[0], clusters.arranged.values[0]
            return weights, weights * values, values, values
        before, upto, before_x, upto_x = (sums[0] for sums in clusters.weighed)
        return upto - before, upto_x - before_x, clusters.lowest[0], clusters.highest[0]

    @cached_property
    def _inside(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats, Floats, Floats, Floats]:
        """Where each cluster begins, its size, and what its running sums are split by."""
        clusters, records = self.clusters, self.clusters.arranged.values[0]
        if clusters.alone:  # no value lies inside
            return clusters.starts, clusters.size, records, records, records, records, records
        before, upto, before_x, upto_x = (sums[0] for sums in clusters.weighed)
        running, running_x = (sums[0] for sums in clusters.arranged.running)
        return clusters.starts, clusters.size, before + upto, before_x + upto_x, records, running, running_x
