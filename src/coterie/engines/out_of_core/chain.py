"""The kernel over a table that does not fit into memory: attribute by attribute, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from coterie.chain.partition import engine as local
from coterie.chain.partition.clustering import Clustering, Piece, Shape
from coterie.chain.partition.individual_ranking import individual_ranking
from coterie.engines.out_of_core.columns import StreamedTable
from coterie.engines.out_of_core.scratch import RowFiles, Scratch
from coterie.engines.out_of_core.sorting import choose_buckets, ranking
from coterie.errors import ParameterError
from coterie.methods.recipe import Method
from coterie.schema.attributes import Attribute
from coterie.table.columns.column import CategoryColumn, Column

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


def alone(first: int, rows: NDArray[np.int64], fields: Mapping[str, NDArray[Any]], records: int) -> Piece:
    """k = 1: every record is its own cluster, numbered as it comes; `records` are those of the whole table."""
    count = len(rows)
    whole = Shape(records, records, 1, 1)
    clustering = Clustering(np.arange(count, dtype=np.int32), np.ones(count, dtype=np.int64), whole)
    return Piece(first, clustering, rows, fields)


def warm_up() -> None:
    """Load all compiled code: 70 MB that belong to the program, before the room beside it is measured."""
    values = np.arange(60_000, dtype=np.float64)
    clustering = individual_ranking(values, 3)
    local.summarise(values, clustering, 3)
    bucket, no_rows = np.empty(0, dtype=np.uint16), np.empty(0, dtype=np.int64)
    choose_buckets(values[:0], 0, values[:0], no_rows, bucket)
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
            if by_itself:
                contents = [_at_position(beginnings[0], piece.fields["key"])]
            else:
                contents = [piece.fields[name] for name, _ in kinds]
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


def _at_position(like: Column, position: NDArray[np.float64]) -> NDArray[Any]:
    """The inverse of `Column.position`."""
    return like.order[position.astype(np.intp)] if isinstance(like, CategoryColumn) else position


def filled_like(like: Column, found: NDArray[Any]) -> Column:
    if isinstance(like, CategoryColumn):
        return replace(like, codes=found.astype(np.int32, copy=False))
    return replace(like, values=found)
