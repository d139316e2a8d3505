"""A table whose attributes are sorted once; clusters for every k, and noise for every run, are read off from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from coterie.columns.column import Column, NumericColumn
from coterie.noise.seeded import SeededSampler
from coterie.partition.clustering import Clustering
from coterie.partition.summary import Summary
from coterie.utility.clustered import OrderedColumn

Floats = NDArray[np.float64]
_NOISE_KEPT = 4_000_000  # draws kept for reuse by later k; more are drawn again, to bound the memory


@dataclass(frozen=True)
class SortedTable:
    """`order` holds the record numbers of each attribute by rising value, ties by record order."""

    columns: Mapping[str, Column]
    order: dict[str, NDArray[np.int64]]
    _noise: dict[tuple[str, int, int], Floats] = field(default_factory=dict, repr=False)
    _ordered: dict[str, OrderedColumn] = field(default_factory=dict, repr=False)

    @property
    def records(self) -> int:
        return len(next(iter(self.order.values())))

    def under(self, columns: Mapping[str, Column]) -> SortedTable:
        """The same values under other domains: nothing is sorted or drawn again."""
        return SortedTable(columns, self.order, self._noise)

    def ordered(self, column: NumericColumn) -> OrderedColumn:
        name = column.attribute.name
        if name not in self._ordered:
            self._ordered[name] = OrderedColumn(column, column.values[self.order[name]] + 0.0)
        return self._ordered[name]

    def clustering(self, name: str, k: int) -> Clustering:
        """Individual ranking of one attribute, as `engines.local` gives it, without sorting again."""
        n = self.records
        size = np.full(n // k, k, dtype=np.int64)
        size[-1] += n % k
        labels = np.empty(n, dtype=np.int32)
        labels[self.order[name]] = np.repeat(np.arange(n // k, dtype=np.int32), size)
        return Clustering(labels, size)

    def summary(self, column: NumericColumn, k: int) -> Summary:
        """What centroids and bounds read of each cluster, to the last bit as `engines.local` gives it."""
        clustering = self.clustering(column.attribute.name, k)
        size, q = clustering.sizes, clustering.count
        # Sums are defined in record order; bincount adds one double at a time in that order.
        total = np.bincount(clustering.labels, weights=column.values, minlength=q).astype(np.float64)
        ordered = self.ordered(column).ordered
        ends = np.cumsum(size)
        depth = min(3, k)
        low = np.stack([ordered[ends - size + d] for d in range(depth)], axis=1)
        high = np.stack([ordered[ends - 1 - d] for d in range(depth)], axis=1)
        return Summary(size, total, low, high)

    def unit_noise(self, name: str, seed: int, runs: int, count: int) -> Floats:
        """Standard Laplace draws, a row a run. The seeded sampler's stream does not depend on how much is read."""
        key = (name, seed, runs)
        kept = self._noise.get(key)
        if kept is not None and kept.shape[1] >= count:
            return kept[:, :count]
        zeros, ones = np.zeros(count), np.ones(count)
        drawn = np.stack([SeededSampler(seed + run).laplace(zeros, ones, name) for run in range(runs)])
        if drawn.size * len(self.columns) <= _NOISE_KEPT:
            self._noise[key] = drawn
        return drawn


def sort_once(columns: Mapping[str, Column]) -> SortedTable:
    """One stable sort an attribute; -0.0 equals 0.0, as in individual ranking."""
    return SortedTable(
        columns, {name: np.argsort(column.position, kind="stable") for name, column in columns.items()}
    )


def alone(column: NumericColumn) -> Summary:
    """Every record its own cluster, in record order (`laplace`, `idp`)."""
    values = column.values + 0.0  # -0.0 becomes 0.0
    return Summary(np.ones(len(values), dtype=np.int64), values, values[:, None], values[:, None])
