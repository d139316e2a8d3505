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
from coterie.chain.synthesis.scores import Scores
from coterie.chain.synthesis.synthesiser import Summed
from coterie.chain.synthesis.tables import Binning
from coterie.chain.synthesis.whole_table import CodedColumn, Drawn
from coterie.engines.buckets import Fields
from coterie.engines.out_of_core.chain import SamplerAt, filled_like
from coterie.engines.spark.chunks import Batches, Chunks, ReleasedRows, RowChunk, kept_columns
from coterie.schema.arrays import Whole

_LAYOUT = "sums binary"
_AT_ONCE = 64  # partial sums that the driver adds up itself


@dataclass(frozen=True, slots=True)
class SparkRecords:
    chunks: Chunks

    def decimals(self, asked: Sequence[int]) -> list[Whole]:
        def count(fields: Fields) -> Whole:
            return np.concatenate([decimal_counts(field) for field in fields])

        found = self._summed(asked, len(asked) * (MOST + 2), count)
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

        found = self.records._summed(range(len(self.coded)), sum(sizes), count)
        return np.split(found, np.cumsum(sizes)[:-1])

    def dependence(self, scores: Scores, binning: Binning) -> tuple[Whole, list[Whole]]:
        empty = Summed(scores, binning)
        sizes = [empty.gram.size, *(table.size for table in empty.tables)]
        encode = self._encode

        def count(fields: Fields) -> Whole:
            summed = Summed(scores, binning)
            summed.add(encode(fields))
            return np.concatenate([summed.gram.ravel(), *(table.ravel() for table in summed.tables)])

        found = np.split(
            self.records._summed(range(len(self.coded)), sum(sizes), count), np.cumsum(sizes)[:-1]
        )
        tables = [part.reshape(table.shape) for part, table in zip(found[1:], empty.tables, strict=True)]
        return found[0].reshape(empty.gram.shape), tables

    @property
    def _encode(self) -> Callable[[Fields], Whole]:
        coded, likes = self.coded, self.records.chunks.likes

        def encode(fields: Fields) -> Whole:
            columns = [filled_like(like, field) for like, field in zip(likes, fields, strict=True)]
            return np.stack([one.encode(column) for one, column in zip(coded, columns, strict=True)])

        return encode


def drawn_rows(drawn: Drawn, chunks: Chunks, out: ReleasedRows, sampler: SamplerAt, rows: int | None) -> Any:
    """Synthetic rows: beside the kept columns, or as many as were asked for."""

    attributes = range(len(chunks.likes))

    def values(first: int, count: int) -> list[NDArray[Any]]:
        return [drawn.values(number, first, count, sampler(first)) for number in attributes]

    def beside(mine: Iterator[RowChunk]) -> Batches:
        for chunk in mine:
            yield out.batch(values(chunk.first, chunk.count), kept_columns(chunk.kept))

    def numbered(batches: Batches) -> Batches:
        for batch in batches:
            if len(batch):
                yield out.batch(values(int(batch.column(0)[0].as_py()), len(batch)), None)

    if rows is None:
        return chunks.mapped(beside, out.layout, (), kept=True)
    return chunks.frame.sparkSession.range(rows).mapInArrow(numbered, out.layout)


def _sums(batches: Iterable[pa.RecordBatch]) -> Iterator[Whole]:
    for batch in batches:
        for row in batch.column(0):
            yield np.frombuffer(row.as_buffer(), dtype=np.int64)


def _total(sums: Iterable[Whole], size: int) -> Batches:
    total = np.zeros(size, dtype=np.int64)
    for found in sums:
        total += found
    yield pa.RecordBatch.from_pydict({"sums": pa.array([total.tobytes()], pa.binary())})
