"""Clusters of ranked records on Spark, and the released rows in the order of the records.

    chunks → parts, one blob per attribute and bucket → buckets: clusters, noise → ranges of rows, in order

* Splitters of all attributes come from one sample, drawn once and kept. (Range partitioning by Spark samples its boundaries
  anew in every evaluation and would give each evaluation other clusters.)
* A bucket gets the values of a part in record order and sends what is released back in the same order. So no record number
  travels: a row knows the bucket of each of its values, and takes them one after the other.
* Each bucket, and each range of rows, is one task that reads what one shuffle brought.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.partition.clustering import Piece
from coterie.engines.buckets import (
    MOST_BUCKETS,
    SAMPLES_PER_BUCKET,
    BucketPart,
    BucketRanking,
    Fields,
    Splitters,
    by_bucket,
)
from coterie.engines.out_of_core.chain import content, filled_like
from coterie.engines.spark.chunks import (
    Batches,
    Chunks,
    ReleasedRows,
    RowChunk,
    kept_columns,
    sliced,
    stored_kind,
)
from coterie.engines.spark.faults import faults_in_words
from coterie.errors import DataError
from coterie.methods.grouping import Grouping
from coterie.schema.arrays import Floats
from coterie.table.columns.column import Column

VALUES_PER_BUCKET = 1 << 20
VALUES_PER_RANGE = 1 << 22
_BYTES_PER_RANGE = 1 << 26  # of kept columns
_LEAST_CLUSTERS = 8  # in a bucket: with so many samples, none comes out with fewer than two
_PLACES = np.dtype("<u4")  # of records in a part
_NO_BUCKET = -1  # a row that brings the kept columns and the numbers of the buckets
_TO, _FIRST, _BUCKET, _COUNT, _OWN, _NEXT = "to", "first", "bucket", "count", "own", "next"
_LAYOUT = f"{_TO} int, {_FIRST} bigint, {_BUCKET} int, {_COUNT} bigint, {_OWN} binary, {_NEXT} binary"
_KINDS = (pa.int32(), pa.int64(), pa.int32(), pa.int64(), pa.binary(), pa.binary())
_NOT_CUT = Splitters(np.empty(0), np.empty(0, dtype=np.int64))
Release = Callable[[Sequence[Column], Piece], Sequence[NDArray[Any]]]


@dataclass(frozen=True, slots=True)
class RankedGroup:
    """Attributes that share one clustering."""

    places: tuple[int, ...]
    likes: tuple[Column, ...]
    grouping: Grouping
    splitters: Splitters = _NOT_CUT

    @property
    def kinds(self) -> tuple[np.dtype[Any], ...]:
        return tuple(stored_kind(like) for like in self.likes)

    def key(self, fields: Fields) -> Floats:
        key = self.grouping.key
        assert key is not None  # `check_grouping` has seen to it
        return np.ascontiguousarray(key(self.columns(fields)))

    def narrow(self, fields: Fields) -> Fields:
        """Its own of the fields of all attributes, as they travel."""
        own = (fields[place] for place in self.places)
        return tuple(field.astype(kind, copy=False) for field, kind in zip(own, self.kinds, strict=True))

    def columns(self, fields: Fields) -> list[Column]:
        return [filled_like(like, field) for like, field in zip(self.likes, fields, strict=True)]


@dataclass(frozen=True, slots=True)
class SparkRanking:
    """What every task must know. It travels to the executors, so it holds no frame."""

    records: int
    k: int
    groups: tuple[RankedGroup, ...]
    buckets: int  # of each group
    length: int  # rows in one range

    @classmethod
    def of(cls, chunks: Chunks, k: int, groups: Sequence[Sequence[int]], grouping: Grouping) -> SparkRanking:
        """Prepare the ranking. This draws the sample."""
        made = tuple(
            RankedGroup(tuple(places), tuple(chunks.likes[place] for place in places), grouping)
            for places in groups
        )
        wide = -(-chunks.records * len(groups[0]) // VALUES_PER_BUCKET)
        most = min(max(chunks.records // max(_LEAST_CLUSTERS * k, 1), 1), MOST_BUCKETS)
        buckets = min(max(wide, -(-chunks.partitions // len(groups)), 1), most)
        if buckets > 1:
            made = _with_splitters(chunks, made, buckets)
        return cls(chunks.records, k, made, buckets, range_length(chunks))

    def released(self, chunks: Chunks, rows: ReleasedRows, release: Release) -> Any:
        """The rows of the release, in record order; `release` works on whole clusters of some attributes."""
        every = range(len(chunks.likes))
        settle, attach = partial(self._settle, release), partial(self._attach, rows)
        parts = chunks.mapped(self._cut, _LAYOUT, every, kept=False)
        moved = parts.repartitionById(len(self.groups) * self.buckets, _TO)
        values = moved.mapInArrow(faults_in_words(settle), _LAYOUT)
        beside = chunks.mapped(self._beside, _LAYOUT, every, kept=True)
        ranges = beside.union(values).repartitionById(-(-self.records // self.length), _TO)
        return ranges.mapInArrow(faults_in_words(attach), rows.layout)

    def _ranking(self, group: RankedGroup) -> BucketRanking:
        names = tuple(like.attribute.name for like in group.likes)
        return BucketRanking(self.records, self.k, group.key, names, group.kinds)

    # Each of these four runs on executors, on what one partition holds.

    def _cut(self, chunks: Iterator[RowChunk]) -> Batches:
        """Parts: consecutive records of one range, as blobs for the buckets."""
        for first, fields in _parts(chunks, self.length):
            for number, group in enumerate(self.groups):
                own = group.narrow(fields)
                parts = self._ranking(group).parts(own, first, group.splitters)
                yield _table(
                    (
                        number * self.buckets + bucket,
                        first,
                        bucket,
                        part.below,
                        _packed(part.fields),
                        _packed([*part.next, part.before.astype(_PLACES), part.position.astype(_PLACES)]),
                    )
                    for bucket, part in enumerate(parts)
                )

    def _settle(self, release: Release, batches: Batches) -> Batches:
        """Settle one bucket."""
        rows = sorted(_entries(batches), key=lambda entry: entry.first)
        if not rows:
            return
        to = rows[0].to
        group = self.groups[to // self.buckets]
        kinds = group.kinds
        parts = []
        for row in rows:
            *beyond, before, position = _unpacked(row.next, (*kinds, _PLACES, _PLACES))
            found = tuple(beyond), before.astype(np.int64), position.astype(np.int64)
            parts.append(BucketPart(row.first, row.count, tuple(_unpacked(row.own, kinds)), *found))
        del rows

        def work(piece: Piece) -> Sequence[NDArray[Any]]:
            return release(group.columns(tuple(piece.fields.values())), piece)

        settled = self._ranking(group).settle(parts, work)
        del parts
        for back in settled:
            own, across = _packed(back.values), _packed([*back.next, back.position.astype(_PLACES)])
            yield _table([(back.first // self.length, back.first, to, back.left_out, own, across)])

    def _beside(self, chunks: Iterator[RowChunk]) -> Batches:
        """The kept columns, and which bucket each value of a row has gone to."""
        for chunk in chunks:
            for first, start, end in _in_ranges(chunk.first, chunk.count, self.length):
                here = tuple(field[start:end] for field in chunk.fields)
                numbers = []
                for group in self.groups if self.buckets > 1 else ():
                    keys = group.key(group.narrow(here))
                    numbers.append(group.splitters.choose(keys, first)[0].astype(self._number_kind))
                own = _packed(numbers)
                kept = sliced(chunk.kept, start, end - start) if end - start < chunk.count else chunk.kept
                yield _table([(first // self.length, first, _NO_BUCKET, end - start, own, kept)])

    def _attach(self, rows: ReleasedRows, batches: Batches) -> Batches:
        """Put all values of one range back on their rows."""
        beside: list[_Entry] = []
        settled: dict[tuple[int, int], list[_Entry]] = {}  # of each part and group, by bucket
        for entry in sorted(_entries(batches), key=lambda entry: (entry.first, entry.bucket)):
            if entry.bucket == _NO_BUCKET:
                beside.append(entry)
            else:
                settled.setdefault((entry.first, entry.bucket // self.buckets), []).append(entry)
        if not beside:
            return
        start, count = beside[0].first, sum(entry.count for entry in beside)
        ends = [*sorted({first for first, _ in settled}), start + count]
        values: dict[int, NDArray[Any]] = {}
        for number, group in enumerate(self.groups):
            bucket = self._numbers(beside, number, count)
            columns = [np.empty(count, dtype=content(like).dtype) for like in group.likes]
            for first, end in pairwise(ends):
                here = slice(first - start, end - start)
                _fill([column[here] for column in columns], bucket[here], settled[first, number], group.kinds)
            values |= zip(group.places, columns, strict=True)
        at = 0
        for entry in beside:
            span = slice(at, at + entry.count)
            yield rows.batch([values[place][span] for place in sorted(values)], kept_columns(entry.next))
            at += entry.count

    def _numbers(self, beside: Sequence[_Entry], group: int, count: int) -> NDArray[np.uint16]:
        """The bucket of each record of a range."""
        if self.buckets == 1:
            return np.zeros(count, dtype=np.uint16)
        kinds = [self._number_kind] * len(self.groups)
        return np.concatenate([_unpacked(entry.own, kinds)[group] for entry in beside]).astype(np.uint16)

    @property
    def _number_kind(self) -> np.dtype[Any]:
        return np.dtype(np.uint8 if self.buckets <= 1 << 8 else np.uint16)


def _with_splitters(chunks: Chunks, groups: tuple[RankedGroup, ...], buckets: int) -> tuple[RankedGroup, ...]:
    """One sample of all groups."""
    share = min(1.0, buckets * SAMPLES_PER_BUCKET / chunks.records)

    def sample(mine: Iterator[RowChunk]) -> Batches:
        for chunk in mine:
            # Places decide only where the work is cut, and the splitters are kept: this is drawn from once.
            draw = np.random.Generator(np.random.PCG64(chunk.first))
            some = draw.integers(0, chunk.count, int(np.ceil(share * chunk.count)))
            if share == 1:
                some = np.arange(chunk.count)
            for number, group in enumerate(groups):
                keys = group.key(group.narrow(tuple(field[some] for field in chunk.fields)))
                yield _table([(number, chunk.first, 0, 0, _packed([keys]), _packed([chunk.first + some]))])

    entries = list(
        _entries(chunks.mapped(sample, _LAYOUT, range(len(chunks.likes)), kept=False).toArrow().to_batches())
    )

    def splitters(number: int) -> Splitters:
        mine = [entry for entry in entries if entry.to == number]
        keys = np.concatenate([np.frombuffer(entry.own, np.float64) for entry in mine])
        rows = np.concatenate([np.frombuffer(entry.next, np.int64) for entry in mine])
        return Splitters.of_sample(keys, rows, buckets)

    return tuple(replace(group, splitters=splitters(number)) for number, group in enumerate(groups))


def range_length(chunks: Chunks) -> int:
    """Rows that one task brings together: all their values are in its memory at once, so fewer of a wide table."""
    values = chunks.records * len(chunks.likes)
    ranges = max(chunks.partitions, -(-values // VALUES_PER_RANGE), -(-chunks.kept_bytes // _BYTES_PER_RANGE))
    return -(-chunks.records // ranges)


def _in_ranges(first: int, count: int, length: int) -> Iterator[tuple[int, int, int]]:
    """Consecutive records cut where ranges of `length` rows begin: number of the first, its place, the place of the end."""
    start = 0
    while start < count:
        end = min(count, start + length - (first + start) % length)
        yield first + start, start, end
        start = end


def _parts(chunks: Iterator[RowChunk], length: int) -> Iterator[tuple[int, Fields]]:
    """Records that follow one another in one range, as many as may be: short blobs cost as much as long ones."""
    waiting: list[Fields] = []
    begin = after = 0
    for chunk in chunks:
        for first, start, end in _in_ranges(chunk.first, chunk.count, length):
            if waiting and (first != after or first % length == 0):
                yield begin, tuple(map(np.concatenate, zip(*waiting, strict=True)))
                waiting = []
            if not waiting:
                begin = first
            waiting.append(tuple(field[start:end] for field in chunk.fields))
            after = first + end - start
    if waiting:
        yield begin, tuple(map(np.concatenate, zip(*waiting, strict=True)))


def _fill(
    columns: Sequence[NDArray[Any]],
    bucket: NDArray[np.uint16],
    settled: Sequence[_Entry],
    kinds: Sequence[np.dtype[Any]],
) -> None:
    """Every record of a part takes the next value of its bucket; those of clusters across buckets are named."""
    found = [_unpacked(entry.own, kinds) for entry in settled]
    order = by_bucket(bucket, np.array([len(fields[0]) for fields in found]))
    for place, column in enumerate(columns):
        column[order] = np.concatenate([fields[place] for fields in found])
    named = 0
    for entry in settled:
        *values, position = _unpacked(entry.next, (*kinds, _PLACES))
        named += len(position)
        for column, value in zip(columns, values, strict=True):
            column[position] = value
    if named != sum(entry.count for entry in settled):
        raise DataError(
            "The frame had other rows when Spark computed it a second time.",
            "Write it to Parquet, and protect that.",
        )


@dataclass(frozen=True, slots=True)
class _Entry:
    """A row between two stages."""

    to: int  # the partition it goes to
    first: int  # number of the first record of its part, or chunk
    bucket: int
    count: int  # below the bucket; left out by it; or rows of the chunk
    own: Any
    next: Any


def _entries(batches: Batches) -> Iterator[_Entry]:
    for batch in batches:
        numbers = zip(*(batch.column(place).to_pylist() for place in range(4)), strict=True)
        for row, (to, first, bucket, count) in enumerate(numbers):
            own, after = (batch.column(place)[row].as_buffer() for place in (4, 5))
            yield _Entry(to, first, bucket, count, own, after)


def _table(entries: Iterable[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*entries, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, _KINDS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[_TO, _FIRST, _BUCKET, _COUNT, _OWN, _NEXT])


def _packed(fields: Iterable[NDArray[Any]]) -> bytes:
    return b"".join(np.ascontiguousarray(field).data for field in fields)


def _unpacked(content: Any, kinds: Sequence[np.dtype[Any]]) -> list[NDArray[Any]]:
    """Fields of equal length."""
    count = len(content) // max(sum(kind.itemsize for kind in kinds), 1)
    ends = np.cumsum([0, *(kind.itemsize * count for kind in kinds)]).tolist()
    return [np.frombuffer(content, kind, count, start) for kind, start in zip(kinds, ends, strict=False)]
