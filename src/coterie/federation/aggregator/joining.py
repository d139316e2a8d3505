"""Step 7 of 003: the parts of all owners as one stream of rows, in bounded memory."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from coterie.federation.pseudonyms import COLUMN

Part = Iterator[pa.Table]


def concatenated(parts: Sequence[Part]) -> Part:
    """Horizontal: D' = D'_1 ∪ … ∪ D'_m."""
    for part in parts:
        yield from part


@dataclass
class _Stream:
    """The unread rows of one owner, ascending in pseudonyms."""

    source: Part
    rows: pa.Table | None = None

    def fill(self) -> bool:
        """False when nothing is left."""
        while self.rows is None or self.rows.num_rows == 0:
            self.rows = next(self.source, None)
            if self.rows is None:
                return False
        return True

    @property
    def last(self) -> bytes:
        assert self.rows is not None
        return bytes(self.rows.column(COLUMN)[-1].as_py())

    def up_to(self, bound: bytes) -> pa.Table:
        """Take the rows with pseudonyms up to `bound`."""
        assert self.rows is not None
        names = self.rows.column(COLUMN)
        end = bisect.bisect_right(range(len(names)), bound, key=lambda place: names[place].as_py())
        taken, self.rows = self.rows.slice(0, end), self.rows.slice(end)
        return taken


def joined(parts: Sequence[Part], schema: pa.Schema) -> Part:
    """Vertical: rows whose pseudonym every owner has, pseudonyms dropped. A merge of sorted streams."""
    streams = [_Stream(part) for part in parts]
    while all(stream.fill() for stream in streams):
        bound = min(stream.last for stream in streams)
        windows = [stream.up_to(bound) for stream in streams]
        common = windows[0].column(COLUMN).combine_chunks()
        for window in windows[1:]:
            common = common.filter(pc.is_in(common, value_set=window.column(COLUMN).combine_chunks()))
        if len(common) == 0:
            continue
        columns = {}
        for window in windows:
            places = pc.index_in(common, value_set=window.column(COLUMN).combine_chunks())
            rows = window.take(places)
            columns.update({name: rows.column(name) for name in rows.column_names if name != COLUMN})
        yield pa.table([columns[name] for name in schema.names], schema=schema)
