"""A table whose attributes are sorted once; clusters for every k, and noise for every run, are read off from it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from coterie.noise.seeded import SeededSampler
from coterie.partition.summary import Summary
from coterie.schema import Attribute, Schema
from coterie.utility.clustered import Column

Floats = NDArray[np.float64]
_DEPTH = 3  # the most outermost values that any centroid or bound reads
_NOISE_KEPT = 4_000_000  # draws kept for reuse by later k; more are drawn again, to bound the memory


@dataclass(frozen=True)
class SortedColumn:
    """One attribute: record order, rising order, and how the two are linked. Knows nothing of domains."""

    name: str
    records: Floats
    order: NDArray[np.int64]
    ordered: Floats

    def summary(self, k: int) -> Summary:
        """Individual ranking for one k, as `engines.local` gives it to the last bit, without sorting again."""
        n = len(self.records)
        q = n // k
        size = np.full(q, k, dtype=np.int64)
        size[-1] += n % k
        labels = np.empty(n, dtype=np.int64)
        labels[self.order] = np.repeat(np.arange(q), size)
        # Sums are defined in record order; bincount adds one double at a time in that order.
        total = np.bincount(labels, weights=self.records, minlength=q).astype(np.float64)
        ends = np.cumsum(size)
        depth = min(_DEPTH, k)
        low = np.stack([self.ordered[ends - size + d] for d in range(depth)], axis=1)
        high = np.stack([self.ordered[ends - 1 - d] for d in range(depth)], axis=1)
        return Summary(size, total, low, high)

    def alone(self) -> Summary:
        """Every record its own cluster, in record order (`laplace`, `idp`)."""
        values = self.records + 0.0  # -0.0 becomes 0.0
        column = values[:, None]
        return Summary(np.ones(len(values), dtype=np.int64), values, column, column)


@dataclass(frozen=True)
class SortedTable:
    columns: dict[str, SortedColumn]
    records: int
    _noise: dict[tuple[str, int, int], Floats] = field(default_factory=dict, repr=False)

    def column(self, attribute: Attribute) -> Column:
        """The attribute under its domain, ready for measures."""
        found = self.columns[attribute.name]
        return Column(attribute, found.records, found.ordered)

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


def sort_once(columns: dict[str, Floats], schema: Schema) -> SortedTable:
    found = {}
    for attribute in schema.protected:
        records = columns[attribute.name]
        # Ties by record order, and -0.0 equal to 0.0, as in individual ranking.
        order = np.argsort(records, kind="stable")
        found[attribute.name] = SortedColumn(attribute.name, records, order, records[order] + 0.0)
    return SortedTable(found, len(next(iter(columns.values()))))
