"""Drafting from files, frames and databases: `Schema.draft` asks here for whatever is no Arrow table yet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import DataError
from coterie.schema import draft
from coterie.schema.attributes import Schema as Schema
from coterie.schema.dialect import Dialect
from coterie.table.csv_reading import read_csv
from coterie.table.frames import to_arrow
from coterie.table.reading import READERS, ending, read_table


def opened(data: Any, table: str | None, query: str | None) -> tuple[pa.Table, Dialect | None]:
    if not isinstance(data, str | Path):
        return to_arrow(data)[0], None
    dialect = guess_dialect(data)
    return read_table(data, table=table, query=query, dialect=dialect), dialect


draft.open_source[:] = [opened]


# A first guess at the dialect of a text file, for a draft. It comes from the rows, so it is marked `source: data`.

_COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"
_NUMBER = r"^\s*[+-]?[0-9]+(,[0-9]+)?\s*$"
_POINT = r"^\s*[+-]?[0-9]+\.[0-9]+\s*$"
_DAY = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2[0-9]{4}")


def guess_dialect(source: str | Path) -> Dialect:
    """The defaults where they read the file; else what does. Anything but a text file has the default."""
    path = Path(source)
    if READERS.get(ending(path)) is not read_csv or not path.is_file():
        return Dialect()
    for grammar in _grammars():
        found: dict[str, Any] = dict(grammar)
        try:
            table = read_csv(path, dialect=Dialect(**found), as_text=True)
        except DataError:
            continue
        if _has_decimal_commas(table):
            found["decimal"] = ","
        if (written := _date_format(table)) is not None:
            found["date_format"] = written
        return Dialect(**found, source="data") if found else Dialect()
    return Dialect()  # reading it will say what is wrong


def _grammars() -> list[dict[str, Any]]:
    marks: list[dict[str, Any]] = [{}, {"escape": "\\"}, {"quote": None}]
    return [
        {**mark, **({"encoding": name} if name else {})}
        for name in ("", "utf-16", "cp1252")
        for mark in marks
    ]


def _texts(table: pa.Table) -> list[pa.ChunkedArray]:
    return [column.drop_null() for column in table.columns if column.null_count < len(column)]


def _has_decimal_commas(table: pa.Table) -> bool:
    columns = _texts(table)
    if any(pc.all(pc.match_substring_regex(column, _POINT)).as_py() for column in columns):
        return False
    return any(
        pc.all(pc.match_substring_regex(column, _NUMBER)).as_py()
        and pc.any(pc.match_substring_regex(column, _COMMA)).as_py()
        for column in columns
    )


def _date_format(table: pa.Table) -> str | None:
    """Day first unless a month beyond 12 says otherwise; with slashes, only where that is certain."""
    formats = set()
    for column in _texts(table):
        distinct = [text.strip() for text in pc.unique(column).to_pylist()]
        found = [_DAY.fullmatch(text) for text in distinct]
        if not all(found) or len({match[2] for match in found if match}) != 1:
            continue
        days = [(int(match[1]), int(match[3])) for match in found if match]
        mark = next(match[2] for match in found if match)
        first, second = max(day for day, _ in days) > 12, max(month for _, month in days) > 12
        if first and second:
            continue
        if second:
            formats.add(f"%m{mark}%d{mark}%Y")
        elif first or mark == ".":
            formats.add(f"%d{mark}%m{mark}%Y")
    return formats.pop() if len(formats) == 1 else None
