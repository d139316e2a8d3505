"""A table whose attributes are sorted once; clusters for every k, and noise for every run, are read off from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.columns.column import Column, NumericColumn
from coterie.compare.stable_order import stable_order
from coterie.mechanism.numeric import limits
from coterie.methods.grouping import corner_key
from coterie.noise.seeded import Words, seeded_words
from coterie.partition.clustering import Clustering
from coterie.utility.clustered import Arranged, Numbers

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_KEPT = 4_000_000  # words and draws kept for reuse by later k; more are drawn again, to bound the memory
_SIDE_BY_SIDE = 32_768  # records of all attributes of a batch: its arrays stay in the processor's cache


@dataclass(frozen=True)
class Batch:
    """Numeric attributes that are worked on together: `places` are their places among all columns.

    Methods see `numbers`. Measures see `original`, which differs where bounds that were paid for cut values off.
    """

    names: tuple[str, ...]
    places: slice | Whole
    numbers: Numbers
    original: Numbers
    order: Whole  # record numbers by rising value, ties by record order; a row an attribute

    @cached_property
    def ranked(self) -> Arranged:
        # -0.0 becomes 0.0, as in a summary.
        return Arranged(self.numbers, np.take_along_axis(self.numbers.records, self.order, axis=1) + 0.0)

    @cached_property
    def rank(self) -> Whole:
        """The place of each record in that order."""
        rank = np.empty_like(self.order)
        np.put_along_axis(rank, self.order, np.arange(self.order.shape[1])[None], axis=1)
        return rank

    @cached_property
    def alone(self) -> Arranged:
        return Arranged(self.numbers, self.numbers.records + 0.0)

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        lower, upper = np.array([limits(source) for source in self.numbers.sources]).T[:, :, None, None]
        return lower, upper

    @cached_property
    def _steps(self) -> list[tuple[int, float]]:
        """Which attributes come in steps, and how many of those make a unit."""
        steps = enumerate(source.step for source in self.numbers.sources)
        return [(line, float(round(1 / step))) for line, step in steps if step is not None]

    def publish(self, values: Floats) -> None:
        """Clipped and rounded in place, as `LaplaceOnCentroids` does it; values have the axes attribute, row, cluster."""
        lower, upper = self._limits
        np.clip(values, lower, upper, out=values)
        for line, per_unit in self._steps:
            rows = values[line]
            rows *= per_unit
            np.rint(rows, out=rows)
            rows /= per_unit
            np.clip(rows, lower[line], upper[line], out=rows)


@dataclass(frozen=True)
class SortedTable:
    columns: Mapping[str, Column]
    order: dict[str, Whole]
    original: Mapping[str, Column]
    streams: Mapping[str, tuple[int, str]] = field(
        default_factory=dict
    )  # where noise is not of the column's name
    _kept: dict[tuple[Any, ...], Floats] = field(default_factory=dict, repr=False)

    @property
    def records(self) -> int:
        return len(next(iter(self.order.values())))

    def under(self, columns: Mapping[str, Column]) -> SortedTable:
        """The same values under other domains: nothing is sorted or drawn again."""
        return SortedTable(columns, self.order, columns, _kept=self._kept)

    @cached_property
    def batches(self) -> list[Batch]:
        places = [
            place for place, column in enumerate(self.columns.values()) if isinstance(column, NumericColumn)
        ]
        width = max(1, _SIDE_BY_SIDE // self.records)
        return [self._batch(places[first : first + width]) for first in range(0, len(places), width)]

    def _batch(self, places: Sequence[int]) -> Batch:
        names = [list(self.columns)[place] for place in places]
        numbers = Numbers.of([_numeric(self.columns[name]) for name in names])
        original = numbers
        if any(self.original[name] is not self.columns[name] for name in names):
            original = Numbers.of([_numeric(self.original[name]) for name in names])
        order = [self.order[name] for name in names]
        side_by_side = order[0][None] if len(order) == 1 else np.stack(order)  # a long column is not copied
        neighbours = places[-1] - places[0] == len(places) - 1
        among = slice(places[0], places[-1] + 1) if neighbours else np.array(places)
        return Batch(tuple(names), among, numbers, original, side_by_side)

    @cached_property
    def from_corner(self) -> Whole:
        """The order of insensitive MDAV, which is the same for every k."""
        return stable_order(corner_key(list(self.columns.values())))

    def clustering(self, name: str | None, size: Whole) -> Clustering:
        """Consecutive values of one attribute, or (None) records from the corner of the domain, without sorting again."""
        order = self.from_corner if name is None else self.order[name]
        labels = np.empty(self.records, dtype=np.int32)
        labels[order] = np.repeat(np.arange(len(size), dtype=np.int32), size)
        return Clustering(labels, size)

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
            kept = make(seeded_words(pairs, count)).reshape(len(streams), runs, count)
            if kept.size // len(streams) * len(self.columns) <= _KEPT:
                self._kept[key] = kept
        return kept[:, :, :count]


def equal_sizes(records: int, k: int) -> Whole:
    """⌊n/k⌋ clusters of k, the last takes the remainder."""
    size = np.full(records // k, k, dtype=np.int64)
    size[-1] += records % k
    return size


def sort_once(
    columns: Mapping[str, Column],
    original: Mapping[str, Column] | None = None,
    streams: Mapping[str, tuple[int, str]] | None = None,
) -> SortedTable:
    """One stable sort an attribute; -0.0 equals 0.0, as in individual ranking. `original`: what to measure against."""
    order = {name: stable_order(column.position) for name, column in columns.items()}
    return SortedTable(columns, order, columns if original is None else original, streams or {})


def _numeric(column: Column) -> NumericColumn:
    assert isinstance(column, NumericColumn)
    return column
