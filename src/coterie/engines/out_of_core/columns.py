"""A Parquet file, column by column and batch by batch: checked and ready for the chain, never all of it in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from coterie.errors import CoterieError, DataError, SchemaError
from coterie.schema.arrays import Codes, Flags, Whole
from coterie.schema.attributes import Attribute, Missing, Role, Schema, check_names
from coterie.table.checked import absent_in, column_of, filled, inside, located, same_columns
from coterie.table.columns import cells
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn
from coterie.table.columns.labels import further_codes

BATCH = 1 << 17
_FEW = 1 << 12  # rows of kept columns, whose texts may be of any length
_KEPT_BYTES = 8 * 10**6


@dataclass(frozen=True)
class StreamedTable:
    """The same policies as coterie.table.checked.check, applied while reading."""

    path: Path
    schema: Schema

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
        check_names(names)
        same_columns(names, self.schema)
        if not self.schema.protected:
            raise SchemaError("No attribute is protected.", "Give at least one attribute `role: protect`.")
        if self.records < 2:
            raise DataError("Fewer than two rows are left.", "A group to hide in needs at least two records.")

    @cached_property
    def rows(self) -> int:
        with pq.ParquetFile(self.path) as file:
            return int(file.metadata.num_rows)

    @cached_property
    def records(self) -> int:
        """Rows that are released."""
        dropped = self._dropped
        return self.rows - (0 if dropped is None else int(np.bitwise_count(dropped).sum()))

    def columns(self, attribute: Attribute) -> Iterator[Column]:
        """One protected attribute, complete and inside its domain, in batches."""
        return (column for (column,) in self.rows_of([attribute]))

    def rows_of(self, attributes: Sequence[Attribute]) -> Iterator[list[Column]]:
        """Several attributes side by side. One reader for all: labels end a batch where their row group ends."""
        likes: dict[str, Column] = {}
        for first, batch in self._batches([attribute.name for attribute in attributes]):
            try:
                found = []
                for attribute in attributes:
                    column = self._column(batch.column(attribute.name), attribute, likes.get(attribute.name))
                    likes.setdefault(attribute.name, column)
                    found.append(self._policies(column, attribute, first))
                yield found
            except DataError as error:
                raise located(error, f"row {{}} of {self.path}", first) from None

    def beginning(self, attribute: Attribute) -> Column:
        """The first batch: what is public about the column, and how its values are restored."""
        return next(self.columns(attribute))

    def kept(self) -> Iterator[pa.Table]:
        """The columns that are released untouched, without the dropped rows."""
        names = [attribute.name for attribute in self.schema.with_role(Role.KEEP)]
        for first, batch in self._batches(names, self._few(names)):
            keep = self._keep(first, len(batch))
            yield batch if keep is None else batch.filter(pa.array(keep))

    def frequency_order(self, attribute: Attribute) -> Codes:
        """Del Vasto-Terrientes et al., §5.1 over the whole column."""
        counts: Whole | None = None
        like: Column | None = None
        for _, batch in self._batches([attribute.name]):
            like = self._column(batch.column(0), attribute, like)
            assert isinstance(like, CategoryColumn)
            found = np.bincount(like.codes[like.codes >= 0], minlength=like.label_count)
            counts = found if counts is None else counts + found
        assert counts is not None
        return np.argsort(-counts, kind="stable").astype(np.int32)

    def _few(self, names: Sequence[str]) -> int:
        """So many rows of kept columns at once that long texts fit into memory too."""
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

    def _batches(self, names: Sequence[str], size: int = 0) -> Iterator[tuple[int, pa.Table]]:
        first = 0
        try:
            # Buffered and not mapped: a column chunk is never in memory as a whole.
            with pq.ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(size or BATCH, columns=list(names), use_threads=False):
                    yield first, pa.Table.from_batches([batch])
                    first += len(batch)
        except CoterieError:
            raise
        except (pa.ArrowException, OSError):
            raise DataError(f"{self.path} is damaged.", "Copy or write it again.") from None

    def _column(self, column: pa.ChunkedArray, attribute: Attribute, like: Column | None) -> Column:
        if isinstance(like, CategoryColumn):
            return replace(like, codes=further_codes(column, like))
        return column_of(column, attribute, self.schema)

    def _policies(self, column: Column, attribute: Attribute, first: int) -> Column:
        absent = absent_in(column)
        keep = self._keep(first, len(absent))
        if absent.any() and attribute.missing not in (Missing.DROP_ROW, Missing.OWN_CATEGORY):
            if attribute.missing is not Missing.IMPUTE:
                raise cells.missing_values(attribute, absent)
            column = filled(column, absent)
        if keep is not None:
            column = column.rows(keep)
        if isinstance(column, NumericColumn) and len(column.values):
            return inside(column)[0]
        return column

    @cached_property
    def _dropped(self) -> NDArray[np.uint8] | None:
        """One bit per row, or nothing when no attribute drops rows."""
        dropping = [
            a
            for a in self.schema.attributes
            if a.missing is Missing.DROP_ROW and a.role is not Role.IDENTIFIER
        ]
        if not dropping:
            return None
        bits = np.zeros(self.rows // 8 + 1, dtype=np.uint8)
        for attribute in dropping:
            like: Column | None = None
            size = self._few([attribute.name]) if attribute.role is Role.KEEP else 0
            for first, batch in self._batches([attribute.name], size):
                if attribute.role is Role.KEEP:
                    absent = cells.kept_gaps(batch.column(0), attribute)
                else:
                    column = self._column(batch.column(0), attribute, like)
                    like, absent = like or column, absent_in(column)
                rows = np.flatnonzero(absent) + first
                np.bitwise_or.at(bits, rows >> 3, (1 << (rows & 7)).astype(np.uint8))
        return bits

    def _keep(self, first: int, count: int) -> Flags | None:
        if self._dropped is None:
            return None
        start = first >> 3
        bits = np.unpackbits(self._dropped[start : (first + count >> 3) + 1], bitorder="little")
        keep: Flags = bits[first & 7 :][:count] == 0
        return keep
