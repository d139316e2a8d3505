"""Records in buckets of rising (key, record number), and the clusters that run across two of them.

What a disk and a cluster share. Splitters come from a sample and are kept as plain numbers: they decide where the work is
cut, never what comes out. A value that most records share is cut by record number like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition import _ranking_loops as loops
from coterie.chain.partition._compiled import compiled, for_reading
from coterie.chain.partition.clustering import Clustering, ClusterShape, Piece
from coterie.chain.partition.univariate import equal_cut, individual_ranking
from coterie.errors import DataError
from coterie.schema.arrays import Codes, Floats, Whole

MOST_BUCKETS = 1 << 16
SAMPLES_PER_BUCKET = 256
Fields = tuple[NDArray[Any], ...]  # of some records, one array per field
Work = Callable[[Piece], Sequence[NDArray[Any]]]  # what some whole clusters become, one array per attribute


@compiled
def _split_ties(
    keys: Floats,
    first_row: int,
    split_keys: Floats,
    split_rows: Whole,
    bucket: NDArray[np.uint16],
    count: Whole,
) -> None:
    """Break ties between a record and the splitters of its key by record number."""
    for i in range(len(keys)):
        b = bucket[i]
        if b == 0 or split_keys[b - 1] != keys[i]:
            continue
        row = first_row + i
        low, high = 0, int(b)
        while low < high:
            middle = (low + high) // 2
            if split_keys[middle] < keys[i] or split_rows[middle] <= row:
                low = middle + 1
            else:
                high = middle
        count[b] -= 1
        count[low] += 1
        bucket[i] = low


@compiled
def _in_order_of_buckets(bucket: NDArray[np.uint16], place: Whole, order: Codes) -> None:
    for i in range(len(bucket)):
        b = bucket[i]
        order[place[b]] = i
        place[b] += 1


def smallest(keys: Floats, count: int) -> Codes:
    """The places of the `count` smallest records by (key, place), in rising order; all places if there are fewer."""
    if not 0 < count < len(keys):
        return np.arange(min(count, len(keys)), dtype=np.int32)
    largest = np.partition(keys, count - 1)[count - 1]
    chosen = keys < largest
    chosen[np.flatnonzero(keys == largest)[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen).astype(np.int32)


def by_bucket(bucket: NDArray[np.uint16], count: Whole) -> Codes:
    """Order the records by bucket, and inside each bucket by record number."""
    order = np.empty(len(bucket), dtype=np.int32)
    _in_order_of_buckets(for_reading(bucket), np.cumsum(count) - count, order)
    return order


@dataclass(frozen=True, slots=True)
class Splitters:
    """A record is in bucket b if b splitters are not above its (key, record number)."""

    keys: Floats
    rows: Whole

    @classmethod
    def of_sample(cls, keys: Floats, rows: Whole, buckets: int) -> Splitters:
        order = np.lexsort((rows, keys))
        cuts = order[np.arange(1, buckets) * len(order) // buckets] if len(order) else order
        return cls(keys[cuts], rows[cuts].astype(np.int64))

    @property
    def buckets(self) -> int:
        return len(self.keys) + 1

    def choose(self, keys: Floats, first_row: int) -> tuple[NDArray[np.uint16], Whole]:
        """The bucket of each of some records that are numbered from `first_row`, and how many are in each bucket."""
        levels = len(self.keys).bit_length()
        tree = loops.descending_tree(self.keys, levels)
        bucket, count = np.empty(len(keys), dtype=np.uint16), np.zeros(1 << levels, dtype=np.int64)
        keys = for_reading(keys)
        loops.choose_buckets(keys, tree, levels, bucket, count)
        _split_ties(keys, first_row, self.keys, self.rows, bucket, count)
        return bucket, count[: self.buckets]


# A cluster that begins in one bucket may end in the next. Whoever cuts a part of the records into buckets sends each bucket
# also the smallest of its records in the next one: enough for the bucket in which a cluster begins to settle it. The bucket
# in which it ends leaves those records out. So each bucket is worked on once, alone, and whole clusters are all it sees.


@dataclass(frozen=True, slots=True)
class BucketPart:
    """What one part of the table, consecutive records, has for one bucket. All fields are in record order."""

    first: int  # number of the part's first record
    below: int  # how many of its records are in lower buckets
    fields: Fields
    next: Fields  # of its smallest records in the next bucket
    before: Whole  # for each of those: how many of its records in this bucket come before it
    position: Whole  # for each of those: its place in the part


@dataclass(frozen=True, slots=True)
class Settled:
    """What a bucket sends back to a part. Values are in the order of `BucketPart.fields`."""

    first: int
    values: Fields
    left_out: int  # of the values stand for nothing: the bucket below settles those records
    next: Fields  # values of records in the next bucket
    position: Whole  # of those in the part


@dataclass(frozen=True, slots=True)
class BucketRanking:
    """Clusters of k consecutive records by (key, record number), settled bucket by bucket."""

    records: int
    k: int
    key: Callable[[Fields], Floats]
    names: tuple[str, ...]  # of the fields
    kinds: tuple[np.dtype[Any], ...]  # of the values

    @property
    def most_in_next(self) -> int:
        """How many records of the next bucket a cluster may need. The last cluster takes the remainder."""
        return self.k - 1 + self.records % self.k

    def parts(self, fields: Fields, first: int, splitters: Splitters) -> list[BucketPart]:
        """Cut consecutive records, the first of which has the number `first`, into buckets."""
        keys = self.key(fields)
        bucket, count = splitters.choose(keys, first)
        order = by_bucket(bucket, count)
        keys, fields = keys[order], tuple(field[order] for field in fields)
        ends = [0, *np.cumsum(count).tolist()]
        parts = []
        for start, end, after in zip(ends, ends[1:], [*ends[2:], ends[-1]], strict=False):
            chosen = end + smallest(keys[end:after], self.most_in_next)
            before = np.searchsorted(order[start:end], order[chosen])
            own, beyond = (tuple(field[some] for field in fields) for some in (slice(start, end), chosen))
            parts.append(BucketPart(first, start, own, beyond, before, order[chosen].astype(np.int64)))
        return parts

    def settle(self, parts: Sequence[BucketPart], work: Work) -> list[Settled]:
        """Release one bucket, given all its parts in record order."""
        fields = tuple(map(np.concatenate, zip(*(part.fields for part in parts), strict=True)))
        count, low = len(fields[0]), sum(part.below for part in parts)
        high, clusters = low + count, self.records // self.k
        values = tuple(np.zeros(count, dtype=kind) for kind in self.kinds)
        # The clusters that begin in this bucket, and how many records of the next one the last of them lacks.
        first, end = -(-low // self.k), min(-(-high // self.k), clusters)
        if first >= end:
            return _sent_back(parts, values, np.arange(count), np.empty(0, dtype=np.int64), ())
        lacking = (end * self.k if end < clusters else self.records) - high
        left_out = smallest(self.key(fields), first * self.k - low)
        mine = np.delete(np.arange(count), left_out)
        own = _taken(fields, mine) if len(left_out) else fields
        del fields
        if lacking:
            found = self._complete(first, parts, own, mine, lacking, work, values)
            return _sent_back(parts, values, left_out, *found)
        labels = individual_ranking(self.key(own), self.k).labels
        self._enter(first, labels, own, mine, work, values)
        return _sent_back(parts, values, left_out, np.empty(0, dtype=np.int64), ())

    def _complete(
        self,
        first: int,
        parts: Sequence[BucketPart],
        own: Fields,
        mine: Whole,
        lacking: int,
        work: Work,
        values: Fields,
    ) -> tuple[Whole, Fields]:
        """Clusters from number `first` on, of own records and as many as are lacking: which those are, and their values."""
        whole = max(len(mine) // self.k - 1, 0)
        if whole:
            labels = individual_ranking(self.key(own), self.k).labels
            inside = labels < whole
            self._enter(first, labels[inside], _taken(own, inside), mine[inside], work, values)
            own, mine = _taken(own, ~inside), mine[~inside]
        beyond = tuple(map(np.concatenate, zip(*(part.next for part in parts), strict=True)))
        if len(beyond[0]) < lacking:
            raise DataError(
                "The buckets of a column came out too uneven, which happens by chance and hardly ever.",
                "Run it again.",
            )
        wanted = np.sort(np.argsort(self.key(beyond), kind="stable")[:lacking])
        sizes = [len(part.fields[0]) for part in parts]
        starts = np.cumsum([0, *sizes[:-1]])
        of = np.searchsorted(starts, mine, side="right") - 1
        # In record order: an own record comes before the first of the next bucket that comes after it.
        part = [of, np.repeat(np.arange(len(parts)), [len(part.before) for part in parts])[wanted]]
        place = [2 * (mine - starts[of]) + 1, 2 * np.concatenate([part.before for part in parts])[wanted]]
        order = np.lexsort((np.concatenate(place), np.concatenate(part)))
        both = tuple(np.concatenate([some, more[wanted]]) for some, more in zip(own, beyond, strict=True))
        ordered = _taken(both, order)
        across = tuple(np.empty(len(order), dtype=kind) for kind in self.kinds)
        labels = individual_ranking(self.key(ordered), self.k).labels
        self._enter(first + whole, labels, ordered, order, work, across)
        for value, found in zip(values, across, strict=True):
            value[mine] = found[: len(mine)]
        return wanted, tuple(found[len(mine) :] for found in across)

    def _enter(
        self, first: int, labels: Codes, fields: Fields, at: Whole, work: Work, values: Fields
    ) -> None:
        """Write what `work` makes of some whole clusters into `values`."""
        clustering = Clustering(
            labels, equal_cut(len(labels), self.k), ClusterShape.ranked(self.records, self.k)
        )
        piece = Piece(first, clustering, at, dict(zip(self.names, fields, strict=True)))
        for value, found in zip(values, work(piece), strict=True):
            value[at] = found


def _taken(fields: Fields, some: NDArray[Any]) -> Fields:
    return tuple(field[some] for field in fields)


def _sent_back(
    parts: Sequence[BucketPart], values: Fields, left_out: NDArray[Any], wanted: Whole, beyond: Fields
) -> list[Settled]:
    ends = np.cumsum([0, *(len(part.fields[0]) for part in parts)])
    after = np.cumsum([0, *(len(part.position) for part in parts)])
    positions = np.concatenate([part.position for part in parts])[wanted]
    outs, cuts = np.searchsorted(left_out, ends), np.searchsorted(wanted, after)
    beyond = beyond or tuple(value[:0] for value in values)
    return [
        Settled(
            part.first,
            tuple(value[ends[n] : ends[n + 1]] for value in values),
            int(outs[n + 1] - outs[n]),
            tuple(value[cuts[n] : cuts[n + 1]] for value in beyond),
            positions[cuts[n] : cuts[n + 1]],
        )
        for n, part in enumerate(parts)
    ]
