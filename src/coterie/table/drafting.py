"""Drafting from files, frames and databases: `Schema.draft` asks here for whatever is no Arrow table yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.schema import draft
from coterie.schema.attributes import Schema as Schema
from coterie.schema.dialect import Dialect
from coterie.table.dialect_guess import guess_dialect
from coterie.table.frames import to_arrow
from coterie.table.reading import read_table


def opened(data: Any, table: str | None, query: str | None) -> tuple[pa.Table, Dialect | None]:
    if not isinstance(data, str | Path):
        return to_arrow(data)[0], None
    dialect = guess_dialect(data)
    return read_table(data, table=table, query=query, dialect=dialect), dialect


draft.open_source[:] = [opened]
