"""Methods that model the whole table, on Spark: executors add up counts, the driver draws the model, executors draw rows.

A partition answers with one row of 64-bit integers, its sums; the driver adds them up. So it never sees a record, and the
model is the same as in memory for the same seed. Row i is drawn from the model and i alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from coterie.engines.out_of_core.chain import SamplerAt, filled_like
from coterie.engines.spark.sorting import ROW
from coterie.schema.arrays import Whole
from coterie.table.columns.column import CategoryColumn, Column

Work = Callable[[list[NDArray[Any]]], Whole]  # the fields of some records → their sums, in one line
_SUMS = "sums"


@dataclass(frozen=True, slots=True)
class SparkRecords:
    base: Any  # fields f0, f1, … of every record
    likes: tuple[Column, ...]

    def decimals(self, asked: Sequence[int]) -> list[Whole]:
        def count(fields: list[NDArray[Any]]) -> Whole:
            return np.concatenate([decimal_counts(field) for field in fields])

        found = self._summed([f"f{number}" for number in asked], len(asked) * (MOST + 2), count)
        return list(found.reshape(len(asked), -1))

    def measures(self, coded: Sequence[CodedColumn]) -> _SparkMeasures:
        return _SparkMeasures(self, tuple(coded))

    def _summed(self, names: Sequence[str], size: int, work: Work) -> Whole:
        """`work` over every batch of every partition, added up."""

        def partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            total = np.zeros(size, dtype=np.int64)
            for batch in batches:
                if len(batch):
                    total += work([batch.column(name).to_numpy(zero_copy_only=False) for name in names])
            yield pa.RecordBatch.from_pydict({_SUMS: pa.array([total.tobytes()], pa.binary())})

        answers = self.base.select(*names).mapInArrow(partition, f"{_SUMS} binary").toLocalIterator()
        summed = np.zeros(size, dtype=np.int64)
        for answer in answers:
            summed += np.frombuffer(answer[_SUMS], dtype=np.int64)
        return summed


@dataclass(frozen=True, slots=True)
class _SparkMeasures:
    records: SparkRecords
    coded: tuple[CodedColumn, ...]

    def histograms(self) -> list[Whole]:
        sizes = [one.cells.size for one in self.coded]
        encode = self._encode

        def count(fields: list[NDArray[Any]]) -> Whole:
            codes = encode(fields)
            return np.concatenate([np.bincount(c, minlength=s) for c, s in zip(codes, sizes, strict=True)])

        found = self.records._summed(self._names, sum(sizes), count)
        return np.split(found, np.cumsum(sizes)[:-1])

    def dependence(self, scores: Scores, binning: Binning) -> tuple[Whole, list[Whole]]:
        empty = Summed(scores, binning)
        sizes = [empty.gram.size, *(table.size for table in empty.tables)]
        encode = self._encode

        def count(fields: list[NDArray[Any]]) -> Whole:
            summed = Summed(scores, binning)
            summed.add(encode(fields))
            return np.concatenate([summed.gram.ravel(), *(table.ravel() for table in summed.tables)])

        found = np.split(self.records._summed(self._names, sum(sizes), count), np.cumsum(sizes)[:-1])
        tables = [part.reshape(table.shape) for part, table in zip(found[1:], empty.tables, strict=True)]
        return found[0].reshape(empty.gram.shape), tables

    @property
    def _names(self) -> list[str]:
        return [f"f{number}" for number in range(len(self.coded))]

    @property
    def _encode(self) -> Callable[[list[NDArray[Any]]], Whole]:
        coded, likes = self.coded, self.records.likes

        def encode(fields: list[NDArray[Any]]) -> Whole:
            columns = [filled_like(like, field) for like, field in zip(likes, fields, strict=True)]
            return np.stack([one.encode(column) for one, column in zip(coded, columns, strict=True)])

        return encode


def drawn_rows(
    drawn: Drawn, likes: Sequence[Column], sampler: SamplerAt
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Batches whose rows are numbered one after the other get the values v0, v1, … of those rows."""
    kinds = [pa.int32() if isinstance(like, CategoryColumn) else pa.float64() for like in likes]

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not len(batch):
                continue
            first = int(batch.column(ROW)[0].as_py())
            for number, kind in enumerate(kinds):
                values = drawn.values(number, first, len(batch), sampler(first))
                batch = batch.append_column(f"v{number}", pa.array(values, kind))
            yield batch

    return rows
