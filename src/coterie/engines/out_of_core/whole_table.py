"""Methods that model the whole table, over a Parquet file that is larger than memory.

The file is read three times at most, batch by batch: for decimal places, for histograms, and for scores and tables. All are
sums, so the model is the same as in memory. Rows are drawn range by range, whenever the release is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coterie.chain.kernel import released_table
from coterie.chain.synthesis.decimals import decimal_counts
from coterie.chain.synthesis.enforcement import RowRules
from coterie.chain.synthesis.measurements import measurements_table
from coterie.chain.synthesis.raking import Combinations, RakedWeights, margins_of
from coterie.chain.synthesis.scores import Scores
from coterie.chain.synthesis.synthesiser import Summed
from coterie.chain.synthesis.tables import Binning
from coterie.chain.synthesis.whole_table import CodedColumn, Drawn, WholeTable
from coterie.engines.out_of_core.chain import Advance, SamplerAt, content
from coterie.engines.out_of_core.columns import StreamedTable
from coterie.engines.whole_table import better_known_records, drawn_from, known_records, without_records
from coterie.promise.terms import Budget
from coterie.schema.arrays import Whole
from coterie.schema.attributes import Attribute
from coterie.table.columns.column import Column, released_field

_PIECE = 1 << 18  # rows that are drawn together to see which labels they have


@dataclass(frozen=True, slots=True)
class StreamedRecords:
    table: StreamedTable
    measured: Sequence[Attribute]
    advance: Advance

    def decimals(self, asked: Sequence[int]) -> list[Whole]:
        return [
            np.sum(
                [decimal_counts(content(batch)) for batch in self.table.columns(self.measured[number])],
                axis=0,
            )
            for number in asked
        ]

    def measures(self, coded: Sequence[CodedColumn]) -> _StreamedMeasures:
        return _StreamedMeasures(self.table, self.measured, tuple(coded), self.advance)


@dataclass(frozen=True, slots=True)
class _StreamedMeasures:
    table: StreamedTable
    measured: Sequence[Attribute]
    coded: tuple[CodedColumn, ...]
    advance: Advance

    def histograms(self) -> list[Whole]:
        found = []
        for one, attribute in zip(self.coded, self.measured, strict=True):
            counts = np.zeros(one.cells.size, dtype=np.int64)
            for batch in self.table.columns(attribute):
                counts += np.bincount(one.encode(batch), minlength=one.cells.size)
            found.append(counts)
            self.advance(0.5)
        return found

    def dependence(self, scores: Scores, binning: Binning) -> tuple[Whole, list[Whole]]:
        summed = Summed(scores, binning)
        done = 0
        for batches in self.table.rows_of(self.measured):
            codes = np.stack([one.encode(batch) for one, batch in zip(self.coded, batches, strict=True)])
            summed.add(codes)
            done += codes.shape[1]
            self.advance(0.5 * len(self.coded) * codes.shape[1] / self.table.records)
        return summed.gram, summed.tables


@dataclass(frozen=True, slots=True)
class StreamedRows:
    """The released rows, drawn whenever they are read: always the same ones."""

    drawn: Drawn
    budget: Budget
    likes: tuple[Column, ...]  # what is declared, and how values are restored
    records: int  # as far as is known
    count: int
    sampler: SamplerAt
    raked: RakedWeights | None = None  # made from public totals

    @classmethod
    def of(
        cls,
        whole: WholeTable,
        table: StreamedTable,
        budget: Budget,
        sampler: SamplerAt,
        rows: int | None,
        target: str | None,
        advance: Advance,
    ) -> StreamedRows:
        likes = without_records(table.beginning(attribute) for attribute in table.schema.protected)
        named = {column.attribute.name: column for column in likes}
        rules = RowRules.of(table.schema, named)
        margins = margins_of(table.schema, named) if table.schema.totals is not None else []
        measured = {name: named[name] for name in budget.shares}
        records = StreamedRecords(table, [table.schema[name] for name in measured], advance)
        known = table.records
        if table.schema.unit is not None:
            known = known_records(known, budget, sampler(0), rows)
        drawn, shared = drawn_from(
            whole, records, measured, known, budget, sampler(0), rows, target, rules=rules
        )
        known = better_known_records(known, budget, drawn, sampler(0))
        count = known if rows is None else rows
        raked = None
        if table.schema.totals is not None:  # a first pass over the rows that will be released
            starts = range(0, count, _PIECE)
            lengths = {first: min(_PIECE, count - first) for first in starts}
            parts = [
                Combinations.of(margins, drawn.rows(first, length, sampler(first)), length)
                for first, length in lengths.items()
            ]
            raked = RakedWeights.of(table.schema, margins, parts)
        return cls(drawn, shared, likes, known, count, sampler, raked)

    @property
    def measurements(self) -> pa.Table:
        measured = [like for like in self.likes if like.attribute.name in self.drawn.names]
        return measurements_table(self.drawn, measured)

    def tables(
        self, table: StreamedTable, length: int, kept: Callable[[], Iterator[pa.Table]] | None
    ) -> Iterator[pa.Table]:
        """In ranges of `length` rows, with the kept columns beside them; those come in pieces of their own length."""
        beside = kept() if kept is not None else None
        first = 0
        while first < self.count:
            part = next(beside) if beside is not None else None
            count = min(length, self.count - first) if part is None else len(part)
            drawn = self.drawn.rows(first, count, self.sampler(first))
            values = {
                like.attribute.name: (like.restore(drawn[like.attribute.name]), like.field)
                for like in self.likes
            }
            if self.raked is not None and table.schema.raked is not None:
                weights = pa.array(self.raked.rows(drawn, count))
                values[table.schema.raked.name] = weights, released_field(table.schema.raked)
            other = {} if part is None else dict(zip(part.column_names, part.columns, strict=True))
            yield released_table(table.schema, values, other)
            first += count
