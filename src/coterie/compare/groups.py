"""The clusters of one k, made when a method first asks for them and shared by every method that groups alike."""

from __future__ import annotations

from functools import cached_property

from coterie.columns.column import CategoryColumn, Column, NumericColumn
from coterie.compare.sorted_table import SortedTable, alone
from coterie.engines import local
from coterie.methods.grouping import EACH_ALONE, INDIVIDUAL_RANKING, Find, Grouping
from coterie.partition.clustering import Clustering
from coterie.taxonomy.marginality import cluster_counts
from coterie.utility.clustered import ClusteredColumn, ClusteredLabels


class Groups:
    """One grouping of one table for one k."""

    def __init__(self, table: SortedTable, grouping: Grouping, k: int) -> None:
        self._table = table
        self._grouping = grouping
        self._k = k
        self._numbers: dict[str, ClusteredColumn] = {}
        self._labels: dict[str, ClusteredLabels] = {}

    @cached_property
    def _find(self) -> Find:
        """Multivariate groups are found once for all columns."""
        return self._grouping.prepare(list(self._table.columns.values()), self._k)

    def clustering(self, column: Column) -> Clustering:
        if self._grouping is INDIVIDUAL_RANKING:
            return self._table.clustering(column.attribute.name, self._k)
        return self._find(column)

    def numbers(self, column: NumericColumn) -> ClusteredColumn:
        name = column.attribute.name
        if name not in self._numbers:
            self._numbers[name] = self._cut(column)
        return self._numbers[name]

    def labels(self, column: CategoryColumn) -> ClusteredLabels:
        name = column.attribute.name
        if name not in self._labels:
            clustering = self.clustering(column)
            counts = cluster_counts(clustering.labels, column.codes, clustering.count, len(column.distance))
            self._labels[name] = ClusteredLabels(column, counts)
        return self._labels[name]

    def _cut(self, column: NumericColumn) -> ClusteredColumn:
        ordered = self._table.ordered(column)
        if self._grouping is EACH_ALONE:
            return ClusteredColumn(ordered, alone(column), alone=True)
        if self._grouping is INDIVIDUAL_RANKING:
            return ClusteredColumn(ordered, self._table.summary(column, self._k))
        clustering = self._find(column)
        depth = 3 if clustering.sizes.min() >= 3 else 1
        return ClusteredColumn(ordered, local.summarise(column.values, clustering, depth), clustering.labels)
