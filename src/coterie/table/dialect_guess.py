"""A first guess at the dialect of a text file, for a draft. It comes from the rows, so it is marked `source: data`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import DataError
from coterie.schema.dialect import Dialect
from coterie.schema.survey_words import are_gaps
from coterie.table.csv_reading import read_csv

_MARKS = (".", ",", " ", "'", "\u00a0", "\u202f")  # of thousands
_WITH_COMMA = f"^[+-]?([0-9]+|[0-9]{{1,3}}([{''.join(_MARKS).replace(',', '')}][0-9]{{3}})+)(,[0-9]+)?$"  # 1,5 and 1.234,56
_GROUPS = r"^[+-]?[0-9]+$|^[+-]?(0|[1-9][0-9]{0,2}(%s[0-9]{3})*)(\%s[0-9]+)?$"
_DAY = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2[0-9]{4}([ T][0-9:.]+)?")


def guess_from(path: Path) -> Dialect:
    """The defaults where they read the file; else what does."""
    marks: list[dict[str, Any]] = [{}, {"escape": "\\"}, {"quote": None}]
    for encoding, mark in product(({}, {"encoding": "utf-16"}, {"encoding": "cp1252"}), marks):
        found: dict[str, Any] = {**mark, **encoding}
        try:
            table = read_csv(path, dialect=Dialect(**found))
        except DataError:
            continue
        if encoding and not table.num_rows:
            continue  # read two bytes at a time, most short texts are one line of rare letters
        found |= _ways_of_writing(table, partial(read_csv, path, dialect=Dialect(**found), as_text=True))
        return Dialect(**found, source="data") if found else Dialect()
    return Dialect()  # reading it will say what is wrong


def _ways_of_writing(table: pa.Table, as_text: Callable[[], pa.Table]) -> dict[str, Any]:
    """How numbers and dates are written, by the columns that are text by the default way."""
    texts = [_distinct(column) for column in table.columns if pa.types.is_string(column.type)]
    found: dict[str, Any] = {}
    pointed: list[pa.Array] = []  # numbers by the default way; or 1.234 is a thousand and some
    if any(_all(column, _WITH_COMMA) and _has_comma(column) for column in texts):
        floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
        written = as_text()
        pointed = [_distinct(written[name]) for name in floats]
        if all(_is_grouped(column, ".", ",") for column in pointed):
            found["decimal"] = ","
    decimal = found.get("decimal", ".")
    for mark in _MARKS:
        if mark != decimal and any(_is_grouped(column, mark, decimal) for column in (*texts, *pointed)):
            found["thousands"] = mark
            break
    if (days := _date_format(texts)) is not None:
        found["date_format"] = days
    return found


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    """The distinct texts without those such as NA, which may stand among numbers."""
    found = pc.unique(pc.utf8_trim_whitespace(column.drop_null()))
    return found.filter(pc.invert(are_gaps(found)))


def _all(column: pa.Array, pattern: str) -> bool:
    return len(column) > 0 and bool(pc.all(pc.match_substring_regex(column, pattern)).as_py())


def _has_comma(column: pa.Array) -> bool:
    """A decimal comma: after it stand other than three digits somewhere, or a zero alone before it."""
    commas = column.filter(pc.match_substring(column, ","))
    return len(commas) > 0 and not _all(commas, r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$")


def _is_grouped(column: pa.Array, mark: str, decimal: str) -> bool:
    """Numbers of which some have their thousands marked so, and none otherwise."""
    pattern = _GROUPS % (re.escape(mark), decimal)
    return bool(pc.any(pc.match_substring(column, mark)).as_py()) and _all(column, pattern)


def _date_format(texts: list[pa.Array]) -> str | None:
    """Day first unless a month beyond 12 says otherwise; with slashes, only where that is certain."""
    formats = set()
    for column in texts:
        found = [_DAY.fullmatch(text) for text in column.to_pylist()]
        if not found or not all(found) or len({match[2] for match in found if match}) != 1:
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
