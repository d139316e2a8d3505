"""A table whose attributes are sorted once: groups for every k, and what measures know of them, are read off from that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.chain.mechanism.semantic import label_counts
from coterie.chain.partition import engine as local
from coterie.chain.partition.clustering import Clustering
from coterie.chain.partition.individual_ranking import cut, ranks
from coterie.evaluation.clustered import Arranged, Clusters, Floats, Numbers
from coterie.evaluation.clustered_labels import ClusteredLabels
from coterie.methods.grouping import Find, Grouping
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn

Key = Callable[[Sequence[Column]], Floats]
Place = tuple[Key, str | None]  # what is sorted by; of which column (None: of all)
Draws = dict[tuple[object, ...], NDArray[np.generic]]


@dataclass(frozen=True)
class SortedTable:
    """Methods see `columns`, measures `original`: the same unless it is given. Sorted when somebody asks for groups."""

    columns: Mapping[str, Column]
    measured: Mapping[str, Column] | None = None
    draws: Draws = field(default_factory=dict, repr=False)  # kept by SharedNoise for reuse by later k
    _ranks: dict[Place, tuple[Floats, NDArray[np.int32]]] = field(default_factory=dict, repr=False)
    _known: dict[tuple[str, Key | None], Arranged] = field(default_factory=dict, repr=False)

    @property
    def original(self) -> Mapping[str, Column]:
        return self.columns if self.measured is None else self.measured

    @cached_property
    def records(self) -> int:
        return len(next(iter(self.columns.values())).position)

    def under(self, columns: Mapping[str, Column]) -> SortedTable:
        """The same values under other domains: nothing is sorted or drawn again."""
        return SortedTable(columns, draws=self.draws, _ranks=self._ranks)

    def grouped(self, grouping: Grouping, k: int) -> Find:
        """As `grouping.prepare`, without sorting again."""
        if grouping.key is None:
            return grouping.prepare(list(self.columns.values()), k)
        key, sizes = grouping.key, grouping.cut(self.records, k)
        if grouping.multivariate:
            clustering = cut(self._ranked(key, None), sizes)
            return lambda column: clustering
        return lambda column: cut(self._ranked(key, column), sizes)

    def _ranked(self, key: Key, column: Column | None) -> NDArray[np.int32]:
        """One sort a grid, unless other domains give the records another order."""
        place = (key, column.attribute.name if column else None)
        by = key([column] if column else list(self.columns.values()))
        known = self._ranks.get(place)
        if known is None or not (known[0] is by or np.array_equal(known[0], by)):
            known = self._ranks[place] = by, ranks(by)
        return known[1]

    def clusters(self, name: str, grouping: Grouping, clustering: Clustering) -> Clusters | ClusteredLabels:
        """What measures know of the groups of one column."""
        original = self.original[name]
        if isinstance(original, CategoryColumn):
            return ClusteredLabels(original, *label_counts(original, clustering))
        if grouping.alone:
            alone = self._arranged(name, None)
            return Clusters(alone, clustering.sizes, alone.values, alone=True)
        arranged = self._arranged(name, None if grouping.multivariate else grouping.key)
        values = original.values
        if grouping.key is None or grouping.multivariate or not arranged.rising:
            arranged = Arranged(arranged.numbers, local.by_cluster(values, clustering)[None])
        return Clusters(arranged, clustering.sizes, local.summarise(values, clustering, 0).total[None])

    def _arranged(self, name: str, key: Key | None) -> Arranged:
        """The original values in record order, or along a key: one arrangement for every k."""
        if (name, key) not in self._known:
            if key is None:
                numbers = Numbers.of([_numeric(self.original[name])])
                self._known[name, key] = Arranged(numbers, numbers.records + 0.0)
            else:
                numbers = self._arranged(name, None).numbers
                along = np.empty_like(numbers.records)
                along[0, self._ranked(key, self.columns[name])] = numbers.records[0] + 0.0
                self._known[name, key] = Arranged(numbers, along)
        return self._known[name, key]


def _numeric(column: Column) -> NumericColumn:
    assert isinstance(column, NumericColumn)
    return column
