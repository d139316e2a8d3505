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
        self._numbers: dict[tuple[str, int], ClusteredColumn] = {}
        self._labels: dict[str, ClusteredLabels] = {}

    @cached_property
    def _find(self) -> Find:
        """Multivariate groups are found once for all columns."""
        return self._grouping.prepare(list(self._table.columns.values()), self._k)

    def clustering(self, column: Column) -> Clustering:
        if self._grouping is INDIVIDUAL_RANKING:
            return self._table.clustering(column.attribute.name, self._k)
        return self._find(column)

    def numbers(self, column: NumericColumn, depth: int) -> ClusteredColumn:
        """Clusters whose summaries hold at least the `depth` outermost values."""
        key = (column.attribute.name, self._kept_depth(depth))
        if key not in self._numbers:
            self._numbers[key] = self._cut(column, key[1])
        return self._numbers[key]

    def _kept_depth(self, depth: int) -> int:
        """Ranked clusters have all depths at no cost; others are searched for theirs."""
        return 3 if self._grouping in (EACH_ALONE, INDIVIDUAL_RANKING) else depth

    def labels(self, column: CategoryColumn) -> ClusteredLabels:
        name = column.attribute.name
        if name not in self._labels:
            clustering = self.clustering(column)
            counts = cluster_counts(clustering.labels, column.codes, clustering.count, len(column.distance))
            self._labels[name] = ClusteredLabels(column, counts)
        return self._labels[name]

    def _cut(self, column: NumericColumn, depth: int) -> ClusteredColumn:
        ordered = self._table.ordered(column)
        if self._grouping is EACH_ALONE:
            return ClusteredColumn(ordered, alone(column), alone=True)
        if self._grouping is INDIVIDUAL_RANKING:
            return ClusteredColumn(ordered, self._table.summary(column, self._k))
        clustering = self._find(column)
        return ClusteredColumn(ordered, local.summarise(column.values, clustering, depth), clustering.labels)
