"""What a grid shares around the kernel: attributes that are sorted once, and the seeded draws of many runs at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from coterie.chain.mechanism.categorical import label_counts
from coterie.chain.noise.sampler import NoiseGrid
from coterie.chain.noise.seeded import seeded_words, unit_laplace
from coterie.chain.partition.clustering import Clustering, by_cluster, summarise
from coterie.chain.partition.univariate import cut, ranks
from coterie.evaluation.clustered import Arranged, ClusteredLabels, ClusteredNumbers, OriginalNumbers
from coterie.methods.grouping import Find, Grouping
from coterie.schema.arrays import Codes, Floats, Words
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn

# A table whose attributes are sorted once: groups for every k, and what measures know of them, are read off from that.

Key = Callable[[Sequence[Column]], Floats]
Place = tuple[Key, str | None]  # what is sorted by; of which column (None: of all)
Draws = dict[tuple[object, ...], NDArray[Any]]
_SIDE_BY_SIDE = 32_768  # records of all columns of a batch: its arrays stay in the processor's cache


@dataclass(frozen=True)
class SortedTable:
    """Methods see `columns`, measures `original`: the same unless it is given. Sorted when somebody asks for groups."""

    columns: Mapping[str, Column]
    measured: Mapping[str, Column] | None = None
    draws: Draws = field(default_factory=dict, repr=False)  # kept by SharedNoise for reuse by later k
    _ranks: dict[Place, tuple[Floats, Codes]] = field(default_factory=dict, repr=False)
    _numbers: dict[tuple[str, ...], OriginalNumbers] = field(default_factory=dict, repr=False)
    _known: dict[tuple[tuple[str, ...], Key | None], Arranged] = field(default_factory=dict, repr=False)

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

    def _ranked(self, key: Key, column: Column | None) -> Codes:
        """One sort a grid, unless other domains give the records another order."""
        place = (key, column.attribute.name if column else None)
        by = key([column] if column else list(self.columns.values()))
        known = self._ranks.get(place)
        if known is None or not (known[0] is by or np.array_equal(known[0], by)):
            known = self._ranks[place] = by, ranks(by)
        return known[1]

    def batches(self, grouping: Grouping) -> list[tuple[str, ...]]:
        """Columns that are measured together: numbers of a small table lie side by side, so that a step costs one call."""
        if grouping.sizes is None:  # each column has its own
            return [(name,) for name in self.columns]
        numbers = [name for name, column in self.columns.items() if isinstance(column, NumericColumn)]
        width = max(1, _SIDE_BY_SIDE // self.records)
        batches = [tuple(numbers[first : first + width]) for first in range(0, len(numbers), width)]
        return batches + [(name,) for name in self.columns if name not in numbers]

    def clusters(
        self, names: tuple[str, ...], grouping: Grouping, found: Sequence[Clustering]
    ) -> ClusteredNumbers | ClusteredLabels:
        """What measures know of the groups of a batch."""
        first = self.original[names[0]]
        if isinstance(first, CategoryColumn):
            return ClusteredLabels(first, *label_counts(first, found[0]))
        sizes = found[0].sizes
        if grouping.alone:
            alone = self._arranged(names, None)
            return ClusteredNumbers(alone, sizes, alone.values, alone=True)
        key = None if grouping.multivariate else grouping.key
        arranged = self._arranged(names, key)
        records = arranged.numbers.records
        if key is None or not arranged.rising:
            arranged = Arranged(arranged.numbers, np.stack(list(map(by_cluster, records, found))))
        total = np.stack([summarise(line, one, 0).total for line, one in zip(records, found, strict=True)])
        return ClusteredNumbers(arranged, sizes, total)

    def _arranged(self, names: tuple[str, ...], key: Key | None) -> Arranged:
        """The original values in record order, or along a key: one arrangement for every k."""
        if (names, key) not in self._known:
            numbers = self._numbers.get(names)
            if numbers is None:
                numbers = self._numbers[names] = OriginalNumbers.of(
                    [cast(NumericColumn, self.original[name]) for name in names]
                )
            along = numbers.records + 0.0  # no -0.0 is left
            if key is not None:
                for line, name in enumerate(names):
                    along[line, self._ranked(key, self.columns[name])] = numbers.records[line]
                along += 0.0
            self._known[names, key] = Arranged(numbers, along)
        return self._known[names, key]


# The seeded draws of many runs at once, behind the interface through which mechanisms ask for noise.

_KEPT = 4_000_000  # words and draws of all columns kept for reuse by later k; more are drawn again
_AT_ONCE = 100_000  # draws: more of them would leave the processor's own cache
_RUN = re.compile("\x00(\\d+)\x00")


def of_run(name: str, run: int) -> str:
    """The name of a column that stands for one run only: its noise is that of `name` in this run."""
    return f"{name}\x00{run}\x00"  # no column of a file has such a name


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """What `SeededSampler(seed + r)` draws for each run r: a row per run, or of one run (`each`) plain draws."""

    kept: Draws  # of the whole grid
    columns: int
    seed: int
    count: int  # of runs
    runs: slice | int
    own: Draws = field(default_factory=dict)  # of this column and k, where there are too many to keep
    lock: AbstractContextManager[Any] = field(default_factory=Lock, repr=False)
    name: str = "NumPy Philox, seeded, many runs"
    private: bool = False

    def only(self, runs: slice | int) -> SharedNoise:
        return replace(self, runs=runs)

    @property
    def width(self) -> int:
        return self.runs.stop - self.runs.start if isinstance(self.runs, slice) else 1

    def each(self) -> Iterator[SharedNoise]:
        """The same runs one by one, for mechanisms that know of one only."""
        assert isinstance(self.runs, slice)
        return map(self.only, range(self.runs.start, self.runs.stop))

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: NoiseGrid | None = None) -> Floats:
        noisy: Floats = self._drawn(unit_laplace, stream, len(centres)) * scales
        noisy += centres
        return noisy

    def uniform_words(self, count: int, stream: str) -> Words:
        return self._drawn(np.asarray, stream, count)

    def _drawn(self, make: Callable[[Words], NDArray[Any]], stream: str, count: int) -> NDArray[Any]:
        """A stream does not depend on how much of it is read, so larger k take the beginning of what smaller ones had."""
        key = (make, stream, self.seed, self.count)
        with self.lock:  # no stream is drawn twice
            found = self.kept.get(key, self.own.get(key))
            if found is None or found.shape[1] < count:
                found = self._draw(make, stream, count)
                (self.kept if found.size * self.columns <= _KEPT else self.own)[key] = found
        return found[self.runs, :count]

    def _draw(self, make: Callable[[Words], NDArray[Any]], stream: str, count: int) -> NDArray[Any]:
        of_one_run = _RUN.search(stream)
        first = self.seed + (int(of_one_run[1]) if of_one_run else 0)
        pairs = [(first + run, _RUN.sub("", stream)) for run in range(self.count)]
        together = max(1, _AT_ONCE // count)
        parts = [
            make(seeded_words(pairs[start : start + together], count))
            for start in range(0, len(pairs), together)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
