"""Categories as clusters: what by-cluster measures need, computed once and used by every ε, method and run.

    semantic distance of a cluster = m(S, released label), the marginality of Sánchez et al. 2016, Eq. (4)

so the error of a cell costs one number per cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coterie.schema.arrays import Floats, Whole
from coterie.schema.taxonomy.semantics import marginality
from coterie.table.columns.column import CategoryColumn, Codes


@dataclass(frozen=True)
class ClusteredLabels:
    """A column of categories cut into clusters. Ranked by category most clusters hold one label only: few are distinct."""

    source: CategoryColumn
    counts: Floats  # how many records of each distinct cluster hold each label
    group: Whole  # which of them each cluster is like

    @property
    def records(self) -> int:
        return len(self.source.codes)

    @cached_property
    def size(self) -> Floats:
        """How many records each distinct cluster has."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    @cached_property
    def marginality(self) -> Floats:
        """m(S, a) for every distinct cluster and label."""
        return marginality(self.counts, self.source.distance)

    @cached_property
    def histogram(self) -> Whole:
        return np.bincount(self.source.codes, minlength=self.source.label_count)


@dataclass(frozen=True)
class Drawn:
    """What cells and runs release: one row each, one label per cluster."""

    clustered: ClusteredLabels
    codes: Codes

    @cached_property
    def distance(self) -> Floats:
        """Σ δ over all records of a row. Σ δ over a cluster is the marginality of the label that was drawn for it."""
        return np.asarray(self.clustered.marginality[self.clustered.group, self.codes].sum(axis=1))

    @cached_property
    def histogram(self) -> Whole:
        """Records with each label, every label counted as often as its cluster has members."""
        rows, labels = len(self.codes), self.clustered.source.label_count
        place = self.codes + labels * np.arange(rows)[:, None]
        size = np.broadcast_to(self.clustered.size[self.clustered.group], place.shape)
        counts = np.bincount(place.ravel(), weights=size.ravel(), minlength=labels * rows)
        return counts.reshape(rows, labels).astype(np.int64)
