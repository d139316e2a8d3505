"""A Parquet file, column by column and batch by batch: checked and ready for the chain, never all of it in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from coterie.errors import CoterieError, DataError
from coterie.schema.arrays import Codes, Whole
from coterie.schema.attributes import Attribute, Role, Schema
from coterie.table.checked import check_columns, check_count, column_of, inside, located, with_gaps
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn

BATCH = 1 << 17
_FEW = 1 << 12  # rows of kept columns, whose texts may be of any length
_KEPT_BYTES = 8 * 10**6


@dataclass(frozen=True)
class StreamedTable:
    """The same policies as coterie.table.checked.check, applied while reading."""

    path: Path
    schema: Schema
    counts: NDArray[np.uint8] | None = None  # a bit per row of the file: whether it counts. None: all do

    def __post_init__(self) -> None:
        if self.path.is_dir():
            raise DataError(
                f"{self.path} is a folder.", "Give one Parquet file, or read it with --engine spark."
            )
        if not self.path.is_file():
            raise DataError(f"There is no file {self.path}.", "Check the path.")
        try:
            with pq.ParquetFile(self.path) as file:
                names = file.schema_arrow.names
        except (pa.ArrowException, OSError):
            raise DataError(
                f"{self.path} is not a complete Parquet file.",
                "Tables larger than memory are read from Parquet only; write it again as Parquet.",
            ) from None
        check_columns(names, self.schema)
        check_count(self.records)

    @cached_property
    def records(self) -> int:
        if self.counts is not None:
            return int(np.bitwise_count(self.counts).sum())
        with pq.ParquetFile(self.path) as file:
            return int(file.metadata.num_rows)

    def columns(self, attribute: Attribute) -> Iterator[Column]:
        """One protected attribute, complete and inside its domain, in batches."""
        return (column for (column,) in self.rows_of([attribute]))

    def rows_of(self, attributes: Sequence[Attribute]) -> Iterator[list[Column]]:
        """Several attributes side by side. One reader for all: labels end a batch where their row group ends."""
        likes: dict[str, Column] = {}
        names, rules = [attribute.name for attribute in attributes], self.schema.edit_rules
        names += rules.needed_for(names)
        for first, batch in self.batches(names):
            try:
                read = {
                    n: column_of(batch.column(n), self.schema[n], self.schema, likes.get(n)) for n in names
                }
                likes = likes or read
                found = with_gaps(read, rules, {})
                yield [_inside(found[attribute.name]) for attribute in attributes]
            except DataError as error:
                raise located(error, f"row {{}} of {self.path}", first) from None

    def beginning(self, attribute: Attribute) -> Column:
        """The first batch: what is public about the column, and how its values are restored."""
        return next(self.columns(attribute))

    def kept(self) -> Iterator[pa.Table]:
        """The columns that are released untouched."""
        names = [attribute.name for attribute in self.schema.with_role(Role.KEEP)]
        return (batch for _, batch in self.batches(names, self._few(names)))

    def frequency_order(self, attribute: Attribute) -> Codes:
        """Del Vasto-Terrientes et al., §5.1 over the whole column."""
        counts: Whole | None = None
        like: Column | None = None
        for _, batch in self.batches([attribute.name]):
            like = column_of(batch.column(0), attribute, self.schema, like)
            assert isinstance(like, CategoryColumn)
            found = np.bincount(like.codes[like.codes >= 0], minlength=like.label_count)
            counts = found if counts is None else counts + found
        assert counts is not None
        return np.argsort(-counts, kind="stable").astype(np.int32)

    def _few(self, names: Sequence[str]) -> int:
        """How many rows of kept columns to read at once, so that long texts fit into memory too."""
        with pq.ParquetFile(self.path) as file:
            layout = file.metadata
            groups = [layout.row_group(number) for number in range(layout.num_row_groups)]
            most = max(
                sum(
                    chunk.total_uncompressed_size
                    for chunk in map(group.column, range(group.num_columns))
                    if chunk.path_in_schema.split(".")[0] in names or chunk.path_in_schema in names
                )
                / max(group.num_rows, 1)
                for group in groups
            )
        return max(min(_FEW, int(_KEPT_BYTES / max(most, 1))), 1)

    def batches(self, names: Sequence[str], size: int = 0) -> Iterator[tuple[int, pa.Table]]:
        first = 0
        try:
            # Buffered and not mapped: a column chunk is never in memory as a whole.
            with pq.ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(size or BATCH, columns=list(names), use_threads=False):
                    table = pa.Table.from_batches([batch])
                    if self.counts is not None:
                        bits = self.counts[first // 8 : (first + len(batch) + 7) // 8]
                        whole = np.unpackbits(bits, bitorder="little").astype(np.bool_)
                        table = table.filter(pa.array(whole[first % 8 :][: len(batch)]))
                    if len(table):
                        yield first, table
                    first += len(batch)
        except CoterieError:
            raise
        except (pa.ArrowException, OSError):
            raise DataError(f"{self.path} is damaged.", "Copy or write it again.") from None


def _inside(column: Column) -> Column:
    return inside(column)[0] if isinstance(column, NumericColumn) and len(column.values) else column
