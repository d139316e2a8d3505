"""The kernel over a table that does not fit into memory: attribute by attribute, piece by piece."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.kernel import Grouped
from coterie.chain.noise import keystream
from coterie.chain.noise.keystream import KEY_BYTES
from coterie.chain.noise.sampler import Sampler
from coterie.chain.noise.secure import KeyedSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.partition.clustering import Clustering, ClusterShape, Piece, summarise
from coterie.chain.partition.univariate import equal_cut, individual_ranking
from coterie.engines.buckets import SAMPLES_PER_BUCKET, Splitters, by_bucket
from coterie.engines.out_of_core.columns import StreamedTable
from coterie.engines.out_of_core.scratch import HeldRows, RowFiles, Scratch
from coterie.errors import ParameterError
from coterie.methods.recipe import Method
from coterie.schema.arrays import Whole
from coterie.schema.attributes import Attribute
from coterie.table.columns.column import CategoryColumn, Column

# Ranking: records go in, in record order (`add`); whole clusters come out, rising (`pieces`).
#
# Clusters are cut from the order of (key, record number), k at a time, the last with the remainder. A piece holds whole
# clusters, so that a cluster's statistics are added up in record order by one worker, to the last bit the same whatever the
# engine. (On Spark the pieces stay where they are, and the work is sent to them: coterie.engines.spark.ranking.)


@dataclass(frozen=True, slots=True)
class InMemorySort:
    """Records that fit into memory: all clusters are one piece."""

    k: int
    _records: NDArray[Any]
    _filled: list[int] = field(default_factory=lambda: [0])

    def add(self, values: NDArray[Any]) -> None:
        start = self._filled[0]
        self._filled[0] = end = start + len(values)
        self._records[start:end] = values

    def pieces(self) -> Iterator[Piece]:
        records = self._records
        fields = {name: np.ascontiguousarray(records[name]) for name in records.dtype.names or ()}
        clustering = individual_ranking(fields["key"], self.k)
        assert clustering.shape == ClusterShape.ranked(len(records), self.k)
        yield Piece(0, clustering, np.arange(len(records)), fields)


# Individual ranking of a column that does not fit into memory.
#
# Splitters are drawn once from a sample of (key, record number); each record goes to the file of its bucket; each bucket is
# ranked in memory. The splitters decide how the work is cut, never what comes out: the clusters are those of
# `individual_ranking` over the whole column. A cluster that runs across two buckets is carried into the second.

_MOST_BUCKETS = 1 << 12
_BATCH = 1 << 19
_UNEVEN = 1.5  # how much larger than intended a bucket may turn out
_RANKING = 100  # bytes per record that ranking and the chain need, beside copies of the record itself


@dataclass(frozen=True, slots=True)
class ExternalSort:
    """Records are appended in record order (`add`), then taken out cluster by cluster (`pieces`)."""

    scratch: Scratch
    name: str  # files begin with it
    records: int
    k: int
    memory: int  # bytes for one bucket and all that is done with it
    fields: np.dtype[Any]  # a structure with the field "key" and whatever travels with it

    def add(self, values: NDArray[Any]) -> None:
        self.scratch.append(self._column, values)

    def pieces(self) -> Iterator[Piece]:
        shape = ClusterShape.ranked(self.records, self.k)
        first, carried = 0, np.empty(0, dtype=self._numbered)
        buckets = self.buckets()
        names = self._distribute(buckets)
        for bucket in range(buckets):
            found = _inserted(self._read(names[bucket]), carried)
            last = bucket == buckets - 1
            # All but the last bucket leave a cluster behind: the table's last cluster takes the remainder.
            whole = len(found) // self.k - (0 if last else 1)
            if whole <= 0:
                carried = found
                continue
            names_of = self._numbered.names or ()
            columns = {name: np.ascontiguousarray(found[name]) for name in names_of}
            labels = individual_ranking(columns["key"], self.k).labels
            if not last:
                inside = labels < whole
                carried = found[np.flatnonzero(~inside)]
                labels = labels[inside]
                columns = {name: column[inside] for name, column in columns.items()}
            del found
            sizes = equal_cut(len(labels), self.k)
            rows = columns.pop("row").astype(np.int64)
            yield Piece(first, Clustering(labels, sizes, shape), rows, columns)
            first += whole

    @property
    def _column(self) -> str:
        return f"{self.name}-column"

    @property
    def _numbered(self) -> np.dtype[Any]:
        row = "<u4" if self.records < 2**32 else "<i8"
        return np.dtype([("row", row), *((name, self.fields[name].str) for name in self.fields.names or ())])

    def buckets(self) -> int:
        """Into how many buckets the records must be cut; 1 if they fit into memory."""
        each = self._numbered.itemsize * 3 + _RANKING
        room = int(self.memory / each / _UNEVEN) - 2 * self.k  # a carried cluster comes on top
        buckets = -(-self.records // room) if room > 0 else _MOST_BUCKETS + 1
        if buckets > _MOST_BUCKETS:
            least = int(each * _UNEVEN * (self.records / _MOST_BUCKETS + 2 * self.k + 1)) >> 20
            raise ParameterError(
                "The memory allowed is too small for this table.", f"Allow about {least + 1} MB more."
            )
        return buckets

    def _batches(self) -> Iterator[tuple[int, NDArray[Any]]]:
        for start in range(0, self.records, _BATCH):
            count = min(_BATCH, self.records - start)
            yield start, self.scratch.read(self._column, self.fields, start, count)

    def _read(self, name: str) -> NDArray[Any]:
        found = self.scratch.read(name, self._numbered)
        self.scratch.remove(name)
        return found

    def _splitters(self, buckets: int) -> Splitters:
        rng = np.random.Generator(np.random.PCG64(secrets.randbits(64)))
        share = min(1.0, buckets * SAMPLES_PER_BUCKET / self.records)
        keys, rows = [], []
        for start, batch in self._batches():
            chosen = rng.integers(0, len(batch), size=int(np.ceil(share * len(batch))))
            keys.append(batch["key"][chosen])
            rows.append(chosen + start)
        return Splitters.of_sample(np.concatenate(keys), np.concatenate(rows), buckets)

    def _distribute(self, buckets: int) -> list[str]:
        names = [f"{self.name}-bucket-{number}" for number in range(buckets)]
        splitters = self._splitters(buckets)
        for start, batch in self._batches():
            bucket, count = splitters.choose(np.ascontiguousarray(batch["key"]), start)
            order = by_bucket(bucket, count)
            numbered = np.empty(len(batch), dtype=self._numbered)
            numbered["row"] = order
            numbered["row"] += numbered["row"].dtype.type(start)
            for name in batch.dtype.names or ():
                numbered[name] = batch[name][order]
            ends = np.cumsum(count)
            for number in np.flatnonzero(count):
                self.scratch.append(names[number], numbered[ends[number] - count[number] : ends[number]])
        self.scratch.remove(self._column)
        return names


def _inserted(records: NDArray[Any], few: NDArray[Any]) -> NDArray[Any]:
    """Insert a few records at their places in record order. Everything else is moved in blocks."""
    places = np.searchsorted(records["row"], few["row"]).tolist()
    blocks = []
    for number, (start, end) in enumerate(pairwise([0, *places, len(records)])):
        blocks += [records[start:end], few[number : number + 1]]
    return np.concatenate(blocks) if len(few) else records


def sorting_bytes(fields: np.dtype[Any]) -> int:
    """Bytes of memory per record that it takes to rank all records at once and release them."""
    return 60 + 2 * fields.itemsize


_ROOM_PER_THREAD = 400 * 10**6  # two columns at a time on disk, if each has so much
SamplerAt = Callable[[int], Sampler]
Advance = Callable[[float], None]


def sampler_from(seed: int | None) -> SamplerAt:
    """A sampler whose draws depend on the number of the cluster, not on the piece. Its key belongs to this release alone."""
    if seed is not None:
        return lambda first: SeededSampler(seed, first)
    key = keystream.fresh_key()
    return lambda first: KeyedSampler(key, first)


def check_grouping(method: Method) -> None:
    if method.whole_table is not None:
        return  # sums over records, and rows that are drawn one by one
    if method.lists:
        raise ParameterError(
            f"Method '{method.name}' draws its rows in memory.",
            "Run it without a limit of memory, or on a sample.",
        )
    if method.numeric.needs_all_clusters or method.categorical.needs_all_clusters:
        raise ParameterError(
            f"The noise of '{method.name}' depends on all clusters at once.",
            "Run it without a limit of memory, or choose another method.",
        )
    if not (method.grouping.alone or method.grouping.ranked):
        raise ParameterError(
            f"Groups by '{method.grouping.name}' are found in memory only.",
            "Choose a method of individual ranking or insensitive MDAV, or run without a limit of memory.",
        )


def piece_values(
    piece: Piece, column: Column, method: Method, k: int, epsilon: Fraction, sampler: SamplerAt
) -> NDArray[Any]:
    """Run one attribute of some whole clusters through the kernel. Returns one number or code per record."""
    grouped = Grouped.of(column, method.mechanism(column), piece.clustering, k)
    return grouped.noisy(epsilon, sampler(piece.first)).attached()


def alone(first: int, rows: Whole, fields: Mapping[str, NDArray[Any]], records: int) -> Piece:
    """k = 1: every record is its own cluster, numbered as it comes; `records` are those of the whole table."""
    clustering = Clustering.of_each(len(rows), ClusterShape(records, records, 1, 1))
    return Piece(first, clustering, rows, fields)


def warm_up() -> None:
    """Load all compiled code, about 70 MB, before the memory that is left for data is measured."""
    values = np.arange(60_000, dtype=np.float64)
    clustering = individual_ranking(values, 3)
    summarise(values, clustering, 3)
    by_bucket(*Splitters.of_sample(values[:9], np.arange(9), 2).choose(values[:9], 0))
    KeyedSampler(bytes(KEY_BYTES)).laplace(values[:1], values[:1] + 1, "warm up")


@dataclass(frozen=True, slots=True)
class LargeChain:
    table: StreamedTable
    likes: Mapping[str, Column]  # of each protected attribute: what is public about it, and no records
    scratch: Scratch
    method: Method
    k: int
    shares: dict[str, Fraction]
    room: int  # bytes for everything
    length: int  # rows in one range of the output
    _held: dict[str, HeldRows] = field(default_factory=dict)

    def protect(self, group: Sequence[Attribute], sampler: SamplerAt, advance: Advance) -> None:
        """Protect one attribute, or all that share one clustering. `advance` receives each share of the work."""
        beginnings = [self._beginning(attribute) for attribute in group]
        for attribute in group:
            self.scratch.remove_all(f"{self._name(attribute)}-")
        files = [self.rows(attribute) for attribute in group]
        told = len(group) / max(self.table.records, 1)
        for piece, columns in self._pieces(group, beginnings, advance):
            for attribute, column, file in zip(group, columns, files, strict=True):
                epsilon = self.shares[attribute.name]
                file.attach(piece.rows, piece_values(piece, column, self.method, self.k, epsilon, sampler))
            advance(len(piece.rows) * told / 2)

    def rows(self, attribute: Attribute) -> RowFiles | HeldRows:
        """Where released values are stored until their rows are read."""
        name, records = self._name(attribute), self.table.records
        if not self.in_memory:
            return RowFiles(self.scratch, name, records, self.length, self._kind(attribute))
        if name not in self._held:
            self._held[name] = HeldRows(np.empty(records, dtype=self._kind(attribute)), self.length)
        return self._held[name]

    def groups(self) -> list[list[Attribute]]:
        """Attributes that must go through together."""
        protected = list(self.table.schema.protected)
        return [protected] if self.method.grouping.multivariate else [[one] for one in protected]

    @property
    def in_memory(self) -> bool:
        """Whether all released values, and the sorting of one group, fit into the room."""
        return self._released + self._sorting <= self.room

    @property
    def abreast(self) -> int:
        """How many groups are worked on at a time."""
        most = self.room // _ROOM_PER_THREAD
        if self.in_memory:
            most = (self.room - self._released) // max(self._sorting, 1)
        return max(min(most, len(self.groups()), os.cpu_count() or 1), 1)

    @property
    def _released(self) -> int:
        kinds = [np.dtype(self._kind(attribute)) for attribute in self.table.schema.protected]
        return self.table.records * sum(kind.itemsize for kind in kinds)

    @property
    def _sorting(self) -> int:
        if self.method.grouping.alone:
            return 0
        return self.table.records * max(sorting_bytes(self._fields(group)) for group in self.groups())

    def _fields(self, group: Sequence[Attribute]) -> np.dtype[Any]:
        """What is sorted. A column that is sorted by itself is not stored twice."""
        kinds = [] if self.method.grouping.by_position else [self._kind(attribute) for attribute in group]
        return np.dtype([("key", "<f8"), *((f"f{place}", kind) for place, kind in enumerate(kinds))])

    def _kind(self, attribute: Attribute) -> str:
        return _kind(self.likes[attribute.name])

    def _name(self, attribute: Attribute) -> str:
        return f"attribute-{self.table.schema.protected.index(attribute)}"

    def _beginning(self, attribute: Attribute) -> Column:
        column = self.likes[attribute.name]
        if attribute.ranked_by_frequency and isinstance(column, CategoryColumn):
            order = self.table.frequency_order(attribute)
            return replace(column, semantics=replace(column.semantics, ordered=lambda _: order))
        return column

    def _pieces(
        self, group: Sequence[Attribute], beginnings: Sequence[Column], advance: Advance
    ) -> Iterator[tuple[Piece, list[Column]]]:
        key = self.method.grouping.key
        if key is None:
            yield from self._alone(group)
            return
        by_itself, fields = self.method.grouping.by_position, self._fields(group)
        kinds = (fields.names or ())[1:]
        sort: InMemorySort | ExternalSort
        if self.in_memory:
            sort = InMemorySort(self.k, np.empty(self.table.records, dtype=fields))
        else:
            memory = self.room // (2 * self.abreast)
            sort = ExternalSort(
                self.scratch, self._name(group[0]), self.table.records, self.k, memory, fields
            )
            sort.buckets()  # refuses too little memory before anything is read
        told = len(group) / max(self.table.records, 1)
        for columns in self.table.rows_of(group):
            columns = [
                filled_like(like, content(column)) for like, column in zip(beginnings, columns, strict=True)
            ]
            batch = np.empty(len(content(columns[0])), dtype=fields)
            batch["key"] = key(columns)
            for name, column in zip(kinds, columns, strict=not by_itself):
                batch[name] = content(column)
            sort.add(batch)
            advance(len(batch) * told / 2)
        for piece in sort.pieces():
            contents = [piece.fields[name] for name in kinds]
            if by_itself:  # the inverse of `Column.position`
                like, key_ = beginnings[0], piece.fields["key"]
                contents = [like.order[key_.astype(np.intp)] if isinstance(like, CategoryColumn) else key_]
            yield piece, [filled_like(like, found) for like, found in zip(beginnings, contents, strict=True)]

    def _alone(self, group: Sequence[Attribute]) -> Iterator[tuple[Piece, list[Column]]]:
        first = 0
        for columns in self.table.rows_of(group):
            count = len(content(columns[0]))
            if count:
                yield alone(first, np.arange(first, first + count), {}, self.table.records), columns
            first += count


def _kind(column: Column) -> str:
    return "<i4" if isinstance(column, CategoryColumn) else "<f8"


def content(column: Column) -> NDArray[Any]:
    return column.codes if isinstance(column, CategoryColumn) else column.values


def filled_like(like: Column, found: NDArray[Any]) -> Column:
    if isinstance(like, CategoryColumn):
        return replace(like, codes=found.astype(np.int32, copy=False))
    return replace(like, values=found)
