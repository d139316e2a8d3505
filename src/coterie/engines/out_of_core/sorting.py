"""Ranking of records that wait on disk: buckets of rising keys, each ranked in memory."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled
from coterie.chain.partition.clustering import Clustering, Piece, Ranking, Shape
from coterie.chain.partition.univariate import individual_ranking
from coterie.engines.out_of_core.scratch import Scratch
from coterie.errors import ParameterError
from coterie.schema.arrays import Floats, Whole


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


# Ranking of records that fit into memory: all clusters are one piece.


@dataclass(frozen=True, slots=True)
class InMemorySort:
    k: int
    _batches: list[NDArray[Any]] = field(default_factory=list)

    def add(self, values: NDArray[Any]) -> None:
        self._batches.append(values)

    def pieces(self) -> Iterator[Piece]:
        records = np.concatenate(self._batches)
        self._batches.clear()
        clustering = individual_ranking(np.ascontiguousarray(records["key"]), self.k)
        fields = {name: np.ascontiguousarray(records[name]) for name in records.dtype.names or ()}
        assert clustering.shape == Shape.ranked(len(records), self.k)
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
        shape = Shape.ranked(self.records, self.k)
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
        chosen = np.empty(_BATCH, dtype=np.uint16)
        for start, batch in self._batches():
            bucket = chosen[: len(batch)]
            keys = np.ascontiguousarray(batch["key"])
            choose_buckets(keys, start, split_keys, split_rows, bucket)
            order = np.argsort(bucket, kind="stable")  # a radix sort: the numbers are short
            sorted_ = _number(batch, start, self._numbered)[order]
            ends = np.searchsorted(bucket[order], np.arange(buckets + 1))
            for number in np.flatnonzero(np.diff(ends)):
                self.scratch.append(names[number], sorted_[ends[number] : ends[number + 1]])
        self.scratch.remove("column")
        return names


def ranking(scratch: Scratch, records: int, k: int, memory: int, fields: np.dtype[Any]) -> Ranking:
    """In memory where that is enough, else on disk."""
    scratch.remove("column")
    scratch.remove_all("bucket-")
    sort = ExternalSort(scratch, records, k, memory, fields)
    return sort if sort.buckets() > 1 else InMemorySort(k)


def _number(batch: NDArray[Any], start: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    numbered = np.empty(len(batch), dtype=dtype)
    numbered["row"] = np.arange(start, start + len(batch))
    for name in batch.dtype.names or ():
        numbered[name] = batch[name]
    return numbered
