"""The clusters of one k, made when a method first asks for them and shared by every method that groups alike."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from coterie.chain.partition.clustering import Clustering, Summary
from coterie.chain.partition.graded_ranking import graded_sizes
from coterie.comparison.batch import Batch, Floats, Whole, along
from coterie.comparison.labels import distinct_rows
from coterie.comparison.sorted_table import SortedTable, equal_sizes
from coterie.evaluation.clustered import LONG, Arranged, Clusters, Numbers
from coterie.evaluation.clustered_labels import ClusteredLabels
from coterie.methods.grouping import (
    EACH_ALONE,
    GRADED_RANKING,
    INDIVIDUAL_RANKING,
    INSENSITIVE_MDAV,
    Find,
    Grouping,
)
from coterie.schema.taxonomy.semantics import cluster_counts
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn


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

    def find_once(self) -> None:
        """Groups that all attributes share are found before threads ask for them."""
        if not self._grouping.multivariate:
            return
        if any(isinstance(column, NumericColumn) for column in self._table.columns.values()):
            _ = self._together
        elif self._grouping is INSENSITIVE_MDAV:
            _ = self._table.from_corner
        else:
            _ = self._find

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
        size, members = self._members(batch)
        if self._grouping is INDIVIDUAL_RANKING:
            return Clusters(batch.ranked, size, self._totals(batch.numbers, batch))
        return Clusters(_arranged(batch.numbers, members, size), size, self._totals(batch.numbers, batch))

    def measured(self, batch: Batch, seen: Clusters) -> Clusters:
        """The same clusters as measures see them."""
        if batch.original is batch.numbers:
            return seen
        if self._grouping is EACH_ALONE:
            return _alone(Arranged(batch.original, batch.original.records + 0.0))
        size, members = self._members(batch)
        return Clusters(_arranged(batch.original, members, size), size, self._totals(batch.original, batch))

    @cached_property
    def _together(self) -> tuple[Whole, Whole, Whole]:
        """One clustering for all attributes: sizes, the cluster of each record, the records cluster by cluster."""
        assert self._grouping.multivariate
        clustering = self.clustering(next(iter(self._table.columns.values())))
        if self._grouping is INSENSITIVE_MDAV:
            members = self._table.from_corner
        else:  # up to 65,536 labels have sixteen bits, which NumPy counts instead of comparing
            short = clustering.labels.astype(np.min_scalar_type(clustering.count))
            members = np.argsort(short, kind="stable")
        return clustering.sizes, clustering.labels.astype(np.int64), members

    def _members(self, batch: Batch) -> tuple[Whole, Whole]:
        """Sizes, and the records cluster by cluster: a row an attribute, or one for all."""
        if self._grouping is INDIVIDUAL_RANKING:
            return equal_sizes(self._table.records, self._k), batch.order
        size, _, members = self._together
        return size, members[None]

    def _totals(self, numbers: Numbers, batch: Batch) -> Floats:
        """Sums are defined in record order; bincount adds one double at a time in that order."""
        if self._grouping is INDIVIDUAL_RANKING:
            count = self._table.records // self._k
            if self._table.records >= LONG:
                return _ranked_totals(numbers, batch, self._k, count)
            labels = np.minimum(batch.rank // self._k, count - 1)
        else:
            size, shared, _ = self._together
            count, labels = len(size), np.broadcast_to(shared, numbers.records.shape)
        total = np.empty((len(labels), count))
        for line, label, records in zip(total, labels, numbers.records, strict=True):
            line[:] = np.bincount(label, weights=records, minlength=count)
        return total


def _ranked_totals(numbers: Numbers, batch: Batch, k: int, count: int) -> Floats:
    from coterie.chain.partition._compiled import for_reading
    from coterie.comparison._ranked_loops import ranked_totals, whole_totals

    total = np.empty((len(numbers.records), count))
    for place, (line, values) in enumerate(zip(total, numbers.records, strict=True)):
        if numbers is batch.numbers and whole_totals(batch.ranked.values[place], k, line):
            continue
        line[:] = 0.0
        ranked_totals(for_reading(values), batch.rank[place], k, line)
    return total


def _alone(records: Arranged) -> Clusters:
    return Clusters(records, np.ones(records.values.shape[1], dtype=np.int64), records.values, True)


def _arranged(numbers: Numbers, members: Whole, size: Whole) -> Arranged:
    """Records cluster by cluster, then each cluster sorted by itself: nearly all are of one size, so in one call."""
    values = along(numbers.records, members) + 0.0
    alike = int(np.argmax(size != size[0])) or len(size)
    end = alike * int(size[0])
    rows = values[:, :end].reshape(-1, int(size[0]))
    rows.sort(axis=1)
    values[:, :end] = rows.reshape(len(values), end)
    for width in size[alike:].tolist():
        values[:, end : end + width].sort(axis=1)
        end += width
    return Arranged(numbers, values)


def summaries(clusters: Clusters, depth: int) -> tuple[Summary, list[Summary]]:
    """What centroids and bounds read, to the last bit as `engines.local` gives it: of all attributes, and of each."""
    low, high = clusters.outermost(depth)
    apart = [
        Summary(clusters.size, total, *outermost)
        for total, *outermost in zip(clusters.total, low, high, strict=True)
    ]
    size, shape = np.tile(clusters.size, len(low)), (clusters.total.size, depth)
    return Summary(size, clusters.total.ravel(), low.reshape(shape), high.reshape(shape)), apart
