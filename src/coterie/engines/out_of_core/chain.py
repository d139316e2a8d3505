"""The kernel over a table that does not fit into memory: attribute by attribute, piece by piece."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.kernel import Grouped
from coterie.chain.noise import keystream
from coterie.chain.noise.keystream import KEY_BYTES
from coterie.chain.noise.sampler import Sampler
from coterie.chain.noise.secure import KeyedSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.partition._compiled import compiled
from coterie.chain.partition.clustering import Clustering, ClusterShape, Piece, summarise
from coterie.chain.partition.univariate import individual_ranking
from coterie.engines.out_of_core.columns import StreamedTable
from coterie.engines.out_of_core.scratch import RowFiles, Scratch
from coterie.errors import ParameterError
from coterie.methods.recipe import Method
from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import Attribute
from coterie.table.columns.column import CategoryColumn, Column

# Ranking: records go in, in record order (`add`); whole clusters come out, rising (`pieces`).
#
# Clusters are cut from the order of (key, record number), k at a time, the last with the remainder. A piece holds whole
# clusters, so that a cluster's statistics are added up in record order by one worker, to the last bit the same whatever the
# engine. (On Spark the pieces stay where they are, and the work is sent to them: coterie.engines.spark.sorting.)


@compiled
def choose_buckets(
    keys: Floats, first_row: int, split_keys: Floats, split_rows: Whole, bucket: NDArray[np.uint16]
) -> None:
    """bucket[i] = how many splitters are not above (key, record number): a value that most records share is split too."""
    for i in range(len(keys)):
        key = keys[i]
        row = first_row + i
        low, high = 0, len(split_keys)
        while low < high:
            middle = (low + high) // 2
            if split_keys[middle] < key or (split_keys[middle] == key and split_rows[middle] <= row):
                low = middle + 1
            else:
                high = middle
        bucket[i] = low


@dataclass(frozen=True, slots=True)
class InMemorySort:
    """Records that fit into memory: all clusters are one piece."""

    k: int
    _batches: list[NDArray[Any]] = field(default_factory=list)

    def add(self, values: NDArray[Any]) -> None:
        self._batches.append(values)

    def pieces(self) -> Iterator[Piece]:
        records = np.concatenate(self._batches)
        self._batches.clear()
        clustering = individual_ranking(np.ascontiguousarray(records["key"]), self.k)
        fields = {name: np.ascontiguousarray(records[name]) for name in records.dtype.names or ()}
        assert clustering.shape == ClusterShape.ranked(len(records), self.k)
        yield Piece(0, clustering, np.arange(len(records)), fields)


# Individual ranking of a column that does not fit into memory.
#
# Splitters are drawn once from a sample of (key, record number); each record goes to the file of its bucket; each bucket is
# ranked in memory. The splitters decide how the work is cut, never what comes out: the clusters are those of
# `individual_ranking` over the whole column. A cluster that runs across two buckets is carried into the second.

_SAMPLES_PER_BUCKET = 256
_MOST_BUCKETS = 1 << 12
_BATCH = 1 << 17
_UNEVEN = 1.5  # how much larger than intended a bucket may turn out
_RANKING = 160  # bytes per record that ranking and the chain need, beside copies of the record itself


@dataclass(frozen=True, slots=True)
class ExternalSort:
    """Records are appended in record order (`add`), then taken out cluster by cluster (`pieces`)."""

    scratch: Scratch
    records: int
    k: int
    memory: int  # bytes for one bucket and all that is done with it
    fields: np.dtype[Any]  # a structure with the field "key" and whatever travels with it

    def add(self, values: NDArray[Any]) -> None:
        self.scratch.append("column", values)

    def pieces(self) -> Iterator[Piece]:
        shape = ClusterShape.ranked(self.records, self.k)
        first, carried = 0, np.empty(0, dtype=self._numbered)
        buckets = self.buckets()
        names = self._distribute(buckets)
        for bucket in range(buckets):
            found = self._read(names[bucket])
            found = np.insert(found, np.searchsorted(found["row"], carried["row"]), carried)
            last = bucket == buckets - 1
            # All but the last bucket leave a cluster behind: the table's last cluster takes the remainder.
            whole = len(found) // self.k - (0 if last else 1)
            if whole <= 0:
                carried = found
                continue
            labels = individual_ranking(found["key"], self.k).labels
            if not last:
                carried = found[labels == whole]
                found, labels = found[labels < whole], labels[labels < whole]
            sizes = np.full(whole, self.k, dtype=np.int64)
            sizes[-1] += len(found) - whole * self.k
            rows = found["row"].astype(np.int64)
            fields = {name: np.ascontiguousarray(found[name]) for name in self.fields.names or ()}
            del found
            yield Piece(first, Clustering(labels, sizes, shape), rows, fields)
            first += whole

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
            yield start, self.scratch.read("column", self.fields, start, min(_BATCH, self.records - start))

    def _read(self, name: str) -> NDArray[Any]:
        found = self.scratch.read(name, self._numbered)
        self.scratch.remove(name)
        return found

    def _splitters(self, buckets: int) -> tuple[Floats, Whole]:
        rng = np.random.Generator(np.random.PCG64(secrets.randbits(64)))
        share = min(1.0, buckets * _SAMPLES_PER_BUCKET / self.records)
        keys, rows = [], []
        for start, batch in self._batches():
            chosen = rng.integers(0, len(batch), size=int(np.ceil(share * len(batch))))
            keys.append(batch["key"][chosen])
            rows.append(chosen + start)
        sampled, numbers = np.concatenate(keys), np.concatenate(rows)
        order = np.lexsort((numbers, sampled))
        cuts = order[np.arange(1, buckets) * len(order) // buckets]
        return sampled[cuts], numbers[cuts]

    def _distribute(self, buckets: int) -> list[str]:
        names = [f"bucket-{number}" for number in range(buckets)]
        split_keys, split_rows = self._splitters(buckets)
        for start, batch in self._batches():
            numbered = np.empty(len(batch), dtype=self._numbered)
            numbered["row"] = np.arange(start, start + len(batch))
            for name in batch.dtype.names or ():
                numbered[name] = batch[name]
            bucket = np.empty(len(batch), dtype=np.uint16)
            choose_buckets(np.ascontiguousarray(batch["key"]), start, split_keys, split_rows, bucket)
            order = np.argsort(bucket, kind="stable")  # a radix sort: the numbers are short
            ends = np.searchsorted(bucket[order], np.arange(buckets + 1))
            for number in np.flatnonzero(np.diff(ends)):
                self.scratch.append(names[number], numbered[order[ends[number] : ends[number + 1]]])
        self.scratch.remove("column")
        return names


def ranking(
    scratch: Scratch, records: int, k: int, memory: int, fields: np.dtype[Any]
) -> InMemorySort | ExternalSort:
    """In memory where that is enough, else on disk."""
    scratch.remove("column")
    scratch.remove_all("bucket-")
    sort = ExternalSort(scratch, records, k, memory, fields)
    return sort if sort.buckets() > 1 else InMemorySort(k)


SamplerAt = Callable[[int], Sampler]
Advance = Callable[[float], None]


def sampler_from(seed: int | None) -> SamplerAt:
    """Draws that depend on the number of the cluster, not on the piece it comes in. The key is this release's own."""
    if seed is not None:
        return lambda first: SeededSampler(seed, first)
    key = keystream.fresh_key()
    return lambda first: KeyedSampler(key, first)


def check_grouping(method: Method) -> None:
    if method.whole_table is not None:
        return  # sums over records, and rows that are drawn one by one
    if method.synthesis is not None:
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
    """One attribute of some whole clusters through the kernel: numbers or codes, one for each record."""
    grouped = Grouped.of(column, method.mechanism(column), piece.clustering, k)
    return grouped.noisy(epsilon, sampler(piece.first)).attached()


def alone(first: int, rows: Whole, fields: Mapping[str, NDArray[Any]], records: int) -> Piece:
    """k = 1: every record is its own cluster, numbered as it comes; `records` are those of the whole table."""
    count = len(rows)
    whole = ClusterShape(records, records, 1, 1)
    clustering = Clustering(np.arange(count, dtype=np.int32), np.ones(count, dtype=np.int64), whole)
    return Piece(first, clustering, rows, fields)


def warm_up() -> None:
    """Load all compiled code: 70 MB that belong to the program, before the room beside it is measured."""
    values = np.arange(60_000, dtype=np.float64)
    clustering = individual_ranking(values, 3)
    summarise(values, clustering, 3)
    choose_buckets(values[:0], 0, values[:0], np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint16))
    KeyedSampler(bytes(KEY_BYTES)).laplace(values[:1], values[:1] + 1, "warm up")


@dataclass(frozen=True, slots=True)
class LargeChain:
    table: StreamedTable
    scratch: Scratch
    method: Method
    k: int
    shares: dict[str, Fraction]
    memory: int
    length: int  # rows in one range of the output

    def protect(self, group: Sequence[Attribute], sampler: SamplerAt, advance: Advance) -> None:
        """One attribute, or all that share one clustering; `advance` is told of each share of the work."""
        beginnings = [self._beginning(attribute) for attribute in group]
        for attribute in group:
            self.scratch.remove_all(f"{self._name(attribute)}-rows")
        files = [self.rows(attribute) for attribute in group]
        told = len(group) / max(self.table.records, 1)
        for piece, columns in self._pieces(group, beginnings, advance):
            for attribute, column, file in zip(group, columns, files, strict=True):
                epsilon = self.shares[attribute.name]
                file.attach(piece.rows, piece_values(piece, column, self.method, self.k, epsilon, sampler))
            advance(len(piece.rows) * told / 2)

    def rows(self, attribute: Attribute) -> RowFiles:
        kind = _kind(self.table.beginning(attribute))
        return RowFiles(self.scratch, self._name(attribute), self.table.records, self.length, kind)

    def groups(self) -> list[list[Attribute]]:
        """Attributes that must go through together."""
        protected = list(self.table.schema.protected)
        return [protected] if self.method.grouping.multivariate else [[one] for one in protected]

    def _name(self, attribute: Attribute) -> str:
        return f"attribute-{self.table.schema.protected.index(attribute)}"

    def _beginning(self, attribute: Attribute) -> Column:
        column = self.table.beginning(attribute)
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
        # A column that is sorted by itself is not stored twice.
        by_itself = self.method.grouping.by_position
        kinds = [] if by_itself else [(f"f{place}", _kind(column)) for place, column in enumerate(beginnings)]
        fields = np.dtype([("key", "<f8"), *kinds])
        sort = ranking(self.scratch, self.table.records, self.k, self.memory, fields)
        told = len(group) / max(self.table.records, 1)
        for columns in self.table.rows_of(group):
            columns = [
                filled_like(like, content(column)) for like, column in zip(beginnings, columns, strict=True)
            ]
            batch = np.empty(len(content(columns[0])), dtype=fields)
            batch["key"] = key(columns)
            for (name, _), column in zip(kinds, columns, strict=bool(kinds)):
                batch[name] = content(column)
            sort.add(batch)
            advance(len(batch) * told / 2)
        for piece in sort.pieces():
            contents = [piece.fields[name] for name, _ in kinds]
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
