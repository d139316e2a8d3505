"""The clusters of one k, made when a method first asks for them and shared by every method that groups alike."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from coterie.columns.column import CategoryColumn, Column
from coterie.compare.labels import distinct_rows
from coterie.compare.sorted_table import Batch, SortedTable, Whole, equal_sizes
from coterie.methods.grouping import (
    EACH_ALONE,
    GRADED_RANKING,
    INDIVIDUAL_RANKING,
    INSENSITIVE_MDAV,
    Find,
    Grouping,
)
from coterie.partition.clustering import Clustering
from coterie.partition.graded_ranking import graded_sizes
from coterie.partition.summary import Summary
from coterie.taxonomy.marginality import cluster_counts
from coterie.utility.clustered import Arranged, ClusteredLabels, Clusters, Numbers

_DEPTH = 3  # outermost values that the deepest bound reads


class Groups:
    """One grouping of one table for one k."""

    def __init__(self, table: SortedTable, grouping: Grouping, k: int) -> None:
        self._table = table
        self._grouping = grouping
        self._k = k
        self._labels: dict[str, ClusteredLabels] = {}

    @cached_property
    def _find(self) -> Find:
        """Multivariate groups are found once for all columns."""
        return self._grouping.prepare(list(self._table.columns.values()), self._k)

    def clustering(self, column: Column) -> Clustering:
        name, records = column.attribute.name, self._table.records
        if self._grouping is INDIVIDUAL_RANKING:
            return self._table.clustering(name, equal_sizes(records, self._k))
        if self._grouping is GRADED_RANKING:
            return self._table.clustering(name, graded_sizes(records, self._k))
        if self._grouping is INSENSITIVE_MDAV:
            return self._table.clustering(None, equal_sizes(records, self._k))
        return self._find(column)

    def labels(self, column: CategoryColumn) -> ClusteredLabels:
        name = column.attribute.name
        if name not in self._labels:
            self._labels[name] = self._label(column)
        return self._labels[name]

    def _label(self, column: CategoryColumn) -> ClusteredLabels:
        categories = len(column.distance)
        if self._grouping is EACH_ALONE:
            return ClusteredLabels(column, np.eye(categories), column.codes.astype(np.int64))
        clustering = self.clustering(column)
        counts = cluster_counts(clustering.labels, column.codes, clustering.count, categories)
        first, group = distinct_rows(counts)
        return ClusteredLabels(column, counts[first], group)

    def numbers(self, batch: Batch) -> Clusters:
        """The clusters as methods see them."""
        if self._grouping is EACH_ALONE:
            return _alone(batch.alone)
        size, labels = self._cut(batch)
        if self._grouping is INDIVIDUAL_RANKING:
            return _clusters(batch.ranked, size, labels)
        return _clusters(_arranged(batch.numbers, batch.order, labels), size, labels)

    def measured(self, batch: Batch, seen: Clusters) -> Clusters:
        """The same clusters as measures see them."""
        if batch.original is batch.numbers:
            return seen
        if self._grouping is EACH_ALONE:
            return _alone(Arranged(batch.original, batch.original.records + 0.0))
        size, labels = self._cut(batch)
        order = np.argsort(batch.original.records, axis=1, kind="stable")
        return _clusters(_arranged(batch.original, order, labels), size, labels)

    def _cut(self, batch: Batch) -> tuple[Whole, Whole]:
        """Sizes, and the cluster of each record in each attribute."""
        if self._grouping is INDIVIDUAL_RANKING:
            size = equal_sizes(self._table.records, self._k)
            labels = np.empty(batch.order.shape, dtype=np.int64)
            np.put_along_axis(labels, batch.order, np.repeat(np.arange(len(size)), size)[None], axis=1)
            return size, labels
        assert self._grouping.multivariate  # one clustering for all attributes
        clustering = self.clustering(batch.numbers.sources[0])
        return clustering.sizes, np.broadcast_to(clustering.labels, batch.order.shape).astype(np.int64)


def _alone(records: Arranged) -> Clusters:
    return Clusters(records, np.ones(records.values.shape[1], dtype=np.int64), records.values, True)


def _arranged(numbers: Numbers, order: Whole, labels: Whole) -> Arranged:
    """Records by value are sorted by cluster. Sixteen bits at a time: NumPy then counts instead of comparing."""
    for shift in range(0, max(int(labels.max()).bit_length(), 1), 16):
        digits = (np.take_along_axis(labels, order, axis=1) >> shift).astype(np.uint16)
        order = np.take_along_axis(order, np.argsort(digits, axis=1, kind="stable"), axis=1)
    return Arranged(numbers, np.take_along_axis(numbers.records, order, axis=1) + 0.0)


def _clusters(arranged: Arranged, size: Whole, labels: Whole) -> Clusters:
    """Sums are defined in record order; bincount adds one double at a time in that order."""
    records = arranged.numbers.records
    lines = labels + len(size) * np.arange(len(records))[:, None]
    total = np.bincount(lines.ravel(), weights=records.ravel(), minlength=len(records) * len(size))
    return Clusters(arranged, size, total.astype(np.float64).reshape(len(records), len(size)))


def summaries(clusters: Clusters) -> list[Summary]:
    """What centroids and bounds read, attribute by attribute, to the last bit as `engines.local` gives it."""
    depth = np.arange(min(_DEPTH, int(clusters.size.min())))
    low = clusters.arranged.values[:, clusters.starts[:, None] + depth]
    high = clusters.arranged.values[:, clusters.ends[:, None] - 1 - depth]
    return [
        Summary(clusters.size, total, *outermost)
        for total, *outermost in zip(clusters.total, low, high, strict=True)
    ]
