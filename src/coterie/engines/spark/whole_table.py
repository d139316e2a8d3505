"""Methods that model the whole table, on Spark: executors add up counts, the driver draws the model, executors draw rows.

A partition answers with one row of 64-bit integers, its sums; the driver adds them up. So it never sees a record, and the
model is the same as in memory for the same seed. Row i is drawn from the model and i alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.synthesis.decimals import MOST, decimal_counts
from coterie.chain.synthesis.raking import Combinations, Margin, RakedWeights
from coterie.chain.synthesis.scores import Scores
from coterie.chain.synthesis.synthesiser import Summed
from coterie.chain.synthesis.tables import Binning
from coterie.chain.synthesis.whole_table import CodedColumn, Drawn
from coterie.engines.buckets import Fields
from coterie.engines.out_of_core.chain import SamplerAt, filled_like
from coterie.engines.spark.chunks import Batches, Chunks, ReleasedRows, RowChunk, kept_columns
from coterie.schema.arrays import Whole
from coterie.schema.attributes import Schema

_LAYOUT = "sums binary"
_AT_ONCE = 64  # partial sums that the driver adds up itself


@dataclass(frozen=True, slots=True)
class SparkRecords:
    chunks: Chunks
    places: tuple[int, ...]  # of the measured attributes among all protected ones

    def decimals(self, asked: Sequence[int]) -> list[Whole]:
        def count(fields: Fields) -> Whole:
            return np.concatenate([decimal_counts(field) for field in fields])

        found = self._summed([self.places[one] for one in asked], len(asked) * (MOST + 2), count)
        return list(found.reshape(len(asked), -1))

    def measures(self, coded: Sequence[CodedColumn]) -> _SparkMeasures:
        return _SparkMeasures(self, tuple(coded))

    def _summed(self, places: Sequence[int], size: int, work: Callable[[Fields], Whole]) -> Whole:
        """`work`, sums in one line, over every chunk of every partition, added up."""

        def partition(chunks: Iterator[RowChunk]) -> Batches:
            yield from _total((work(chunk.fields) for chunk in chunks), size)

        def together(batches: Batches) -> Batches:
            yield from _total(_sums(batches), size)

        sums = self.chunks.mapped(partition, _LAYOUT, places, kept=False)
        parts = self.chunks.partitions
        while parts > _AT_ONCE:
            parts = -(-parts // _AT_ONCE)
            sums = sums.repartition(parts).mapInArrow(together, _LAYOUT)
        (total,) = _sums(_total(_sums(sums.toArrow().to_batches()), size))
        return total


@dataclass(frozen=True, slots=True)
class _SparkMeasures:
    records: SparkRecords
    coded: tuple[CodedColumn, ...]

    def histograms(self) -> list[Whole]:
        sizes = [one.cells.size for one in self.coded]
        encode = self._encode

        def count(fields: Fields) -> Whole:
            codes = encode(fields)
            return np.concatenate([np.bincount(c, minlength=s) for c, s in zip(codes, sizes, strict=True)])

        found = self.records._summed(self.records.places, sum(sizes), count)
        return np.split(found, np.cumsum(sizes)[:-1])

    def dependence(self, scores: Scores, binning: Binning) -> tuple[Whole, list[Whole]]:
        empty = Summed(scores, binning)
        sizes = [empty.gram.size, *(table.size for table in empty.tables)]
        encode = self._encode

        def count(fields: Fields) -> Whole:
            summed = Summed(scores, binning)
            summed.add(encode(fields))
            return np.concatenate([summed.gram.ravel(), *(table.ravel() for table in summed.tables)])

        found = np.split(self.records._summed(self.records.places, sum(sizes), count), np.cumsum(sizes)[:-1])
        tables = [part.reshape(table.shape) for part, table in zip(found[1:], empty.tables, strict=True)]
        return found[0].reshape(empty.gram.shape), tables

    @property
    def _encode(self) -> Callable[[Fields], Whole]:
        coded, likes = self.coded, [self.records.chunks.likes[place] for place in self.records.places]

        def encode(fields: Fields) -> Whole:
            columns = [filled_like(like, field) for like, field in zip(likes, fields, strict=True)]
            return np.stack([one.encode(column) for one, column in zip(coded, columns, strict=True)])

        return encode


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Synthetic rows: beside the kept columns, or as many as were asked for."""

    drawn: Drawn
    chunks: Chunks
    sampler: SamplerAt
    rows: int | None

    def raked(self, schema: Schema, margins: Sequence[Margin]) -> RakedWeights:
        """A first pass: which labels the rows have together."""

        drawn = self._drawn

        def count(first: int, rows: int, kept: Any) -> pa.RecordBatch:
            found = Combinations.of(margins, drawn(first, rows), rows)
            parts = (found.cells.tobytes(), found.counts.tobytes())
            return pa.RecordBatch.from_arrays(
                [pa.array([part], pa.binary()) for part in parts], ["cells", "counts"]
            )

        parts = [
            Combinations(
                np.frombuffer(cells, np.int64).reshape(max(len(margins), 1), -1),
                np.frombuffer(counts, np.int64),
            )
            for cells, counts in zip(
                *self._mapped(count, "cells binary, counts binary").toArrow().to_pydict().values(),
                strict=True,
            )
        ]
        return RakedWeights.of(schema, margins, parts)

    def released(self, out: ReleasedRows, raked: RakedWeights | None) -> Any:
        names, drawn = [like.attribute.name for like in self.chunks.likes], self._drawn

        def batch(first: int, count: int, kept: Any) -> pa.RecordBatch:
            found = drawn(first, count)
            weights = None if raked is None else raked.rows(found, count)
            return out.batch([found[name] for name in names], kept_columns(kept), weights)

        return self._mapped(batch, out.layout)

    @property
    def _drawn(self) -> Callable[[int, int], dict[str, NDArray[Any]]]:
        """Rows first … first+count-1, without what stays on the driver."""
        drawn, sampler = self.drawn, self.sampler
        return lambda first, count: drawn.rows(first, count, sampler(first))

    def _mapped(self, work: Callable[[int, int, Any], pa.RecordBatch], layout: Any) -> Any:
        """A frame of what `work` makes of the number of a first row, how many follow, and the kept columns beside them."""

        def beside(mine: Iterator[RowChunk]) -> Batches:
            return (work(chunk.first, chunk.count, chunk.kept) for chunk in mine)

        def numbered(batches: Batches) -> Batches:
            return (work(int(batch.column(0)[0].as_py()), len(batch), b"") for batch in batches if len(batch))

        if self.rows is None:
            return self.chunks.mapped(beside, layout, (), kept=True)
        return self.chunks.frame.sparkSession.range(self.rows).mapInArrow(numbered, layout)


def _sums(batches: Iterable[pa.RecordBatch]) -> Iterator[Whole]:
    for batch in batches:
        for row in batch.column(0):
            yield np.frombuffer(row.as_buffer(), dtype=np.int64)


def _total(sums: Iterable[Whole], size: int) -> Batches:
    total = np.zeros(size, dtype=np.int64)
    for found in sums:
        total += found
    yield pa.RecordBatch.from_pydict({"sums": pa.array([total.tobytes()], pa.binary())})
