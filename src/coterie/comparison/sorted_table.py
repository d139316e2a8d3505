"""A table whose attributes are sorted once; clusters for every k, and noise for every run, are read off from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from coterie.chain.noise.seeded import Words, seeded_words
from coterie.chain.partition.clustering import Clustering
from coterie.comparison.batch import Batch, Floats, Whole
from coterie.comparison.ordering import in_order, stable_order
from coterie.evaluation.clustered import Numbers
from coterie.methods.grouping import corner_key
from coterie.table.columns.column import Column, NumericColumn
from coterie.table.memory_limit import room_for

_KEPT = 4_000_000  # words and draws kept for reuse by later k; more are drawn again, to bound the memory
_AT_ONCE = 100_000  # draws: more of them would leave the processor's own cache
_SIDE_BY_SIDE = 32_768  # records of all attributes of a batch: its arrays stay in the processor's cache


@dataclass(frozen=True)
class SortedTable:
    """Methods see `columns`, measures `original`: the same unless it is given. Sorted when somebody asks for the order."""

    columns: Mapping[str, Column]
    measured: Mapping[str, Column] | None = None
    streams: Mapping[str, tuple[int, str]] = field(
        default_factory=dict
    )  # where noise is not of the column's name
    _orders: dict[tuple[str, ...], tuple[Whole, Floats]] = field(default_factory=dict, repr=False)
    _kept: dict[tuple[Any, ...], Floats] = field(default_factory=dict, repr=False)

    @property
    def original(self) -> Mapping[str, Column]:
        return self.columns if self.measured is None else self.measured

    @cached_property
    def records(self) -> int:
        column = next(iter(self.columns.values()))
        return len(column.values if isinstance(column, NumericColumn) else column.codes)

    def under(self, columns: Mapping[str, Column]) -> SortedTable:
        """The same values under other domains: nothing is sorted or drawn again."""
        return SortedTable(columns, _orders=self._orders, _kept=self._kept)

    @cached_property
    def batches(self) -> list[Batch]:
        places = [
            place for place, column in enumerate(self.columns.values()) if isinstance(column, NumericColumn)
        ]
        width = max(1, _SIDE_BY_SIDE // self.records)
        return [self._batch(places[first : first + width]) for first in range(0, len(places), width)]

    def _batch(self, places: Sequence[int]) -> Batch:
        every = list(self.columns)
        names = tuple(every[place] for place in places)
        numbers = Numbers.of([_numeric(self.columns[name]) for name in names])
        original = numbers
        if any(self.original[name] is not self.columns[name] for name in names):
            original = Numbers.of([_numeric(self.original[name]) for name in names])
        neighbours = places[-1] - places[0] == len(places) - 1
        among = slice(places[0], places[-1] + 1) if neighbours else np.array(places)
        return Batch(names, among, numbers, original, partial(_sorted, self.columns, names, self._orders))

    @cached_property
    def from_corner(self) -> Whole:
        """The order of insensitive MDAV, which is the same for every k."""
        return stable_order(corner_key(list(self.columns.values())))

    def clustering(self, name: str | None, size: Whole) -> Clustering:
        """Consecutive values of one attribute, or (None) records from the corner of the domain, without sorting again."""
        order = self.from_corner if name is None else self._order_of(name)
        labels = np.empty(self.records, dtype=np.int32)
        labels[order] = np.repeat(np.arange(len(size), dtype=np.int32), size)
        return Clustering(labels, size)

    def _order_of(self, name: str) -> Whole:
        """Numbers are sorted with their batch."""
        names = next((batch.names for batch in self.batches if name in batch.names), (name,))
        order, _ = _sorted(self.columns, names, self._orders)
        return np.asarray(order[names.index(name)])

    def drawn(
        self, make: Callable[[Words], Floats], streams: tuple[str, ...], seed: int, runs: int, count: int
    ) -> Floats:
        """What `make` makes of the seeded sampler's words: a stream, a run, a cluster.

        A stream does not depend on how much of it is read, so larger k take the beginning of what smaller ones had.
        `self.streams` may send a stream to another one, of a later seed.
        """
        key = (make, streams, seed, runs)
        kept = self._kept.get(key)
        if kept is None or kept.shape[2] < count:
            sent = [self.streams.get(stream, (0, stream)) for stream in streams]
            pairs = [(seed + later + run, stream) for later, stream in sent for run in range(runs)]
            together = max(1, _AT_ONCE // count)
            if len(pairs) <= together:
                kept = make(seeded_words(pairs, count))
            else:
                kept = room_for(len(pairs) * count, np.float64).reshape(-1, count)
                for first in range(0, len(pairs), together):
                    kept[first : first + together] = make(
                        seeded_words(pairs[first : first + together], count)
                    )
            kept = kept.reshape(len(streams), runs, count)
            if kept.size // len(streams) * len(self.columns) <= _KEPT:
                self._kept[key] = kept
        return kept[:, :, :count]


def equal_sizes(records: int, k: int) -> Whole:
    """⌊n/k⌋ clusters of k, the last takes the remainder."""
    size = np.full(records // k, k, dtype=np.int64)
    size[-1] += records % k
    return size


def _sorted(
    columns: Mapping[str, Column],
    names: tuple[str, ...],
    known: dict[tuple[str, ...], tuple[Whole, Floats]],
) -> tuple[Whole, Floats]:
    """Record numbers by rising value, ties by record order, and the values: a row an attribute. One sort a grid."""
    if names not in known:
        position = [columns[name].position for name in names]
        known[names] = in_order(position[0][None] if len(names) == 1 else np.stack(position))
    return known[names]


def _numeric(column: Column) -> NumericColumn:
    assert isinstance(column, NumericColumn)
    return column
