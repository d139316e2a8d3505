"""A sheet of a workbook in (.xlsx, .xlsm, .xls, .ods): one header row, empty cells are nulls.

A column is what its cells are: numbers (integers where all are whole), truth values, dates, moments, or text. Where
they differ, it is text, each number as it would stand in a CSV file (12, not 12.0): `NA` among numbers makes no
error here, and the schema may name it in `missing_marks`. Cells with an error such as #N/A count as empty, and
formulas as the value that was stored with them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import DataError, MissingExtra, nearest
from coterie.io.names import check_names

_ROWS_AT_ONCE = 1 << 14  # cells arrive as Python objects: never all at once
_EXACT = 2**53  # integers beyond it are not exact as doubles, which is all that a sheet holds
_TYPES = {
    float: pa.float64(),
    int: pa.float64(),
    bool: pa.bool_(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
    str: pa.string(),
}


def read_sheet(path: Path, text: Collection[str] = (), sheet: str | None = None) -> pa.Table:
    """The named sheet, or the first visible one. Columns named in `text` become text, whatever their cells are."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtra.named("excel", "Reading a spreadsheet") from None
    try:
        book = calamine.load_workbook(str(path))
        named = _chosen(book, path, sheet)
        opened = book.get_sheet_by_name(named)
        merged = opened.merged_cell_ranges
        rows = opened.iter_rows()
    except calamine.PasswordError:
        raise DataError(
            f"{path} is protected by a password.", "Save it without one, or as 'CSV UTF-8'."
        ) from None
    except calamine.CalamineError:
        raise DataError(
            f"{path} is not a spreadsheet that can be read, whatever its name says.",
            "Save it again from the spreadsheet program, or as 'CSV UTF-8'.",
        ) from None
    if merged:
        raise DataError(
            f"Sheet '{named}' of {path} has merged cells: which rows they speak of cannot be told.",
            "Unmerge them, and leave one header row above the data.",
        )
    return _table(rows, f"Sheet '{named}' of {path}", text)


def _chosen(book: Any, path: Path, sheet: str | None) -> str:
    names: list[str] = book.sheet_names
    if sheet is None:
        from python_calamine import SheetVisibleEnum

        visible: list[str] = [
            found.name for found in book.sheets_metadata if found.visible == SheetVisibleEnum.Visible
        ]
        if not visible:
            raise DataError(f"{path} has no visible sheet.", "Name the sheet to read.")
        return visible[0]
    if sheet not in names:
        raise DataError(f"{path} has no sheet '{sheet}'.", nearest(sheet, names))
    return sheet


def _table(rows: Iterator[list[Any]], where: str, text: Collection[str]) -> pa.Table:
    header: list[Any] = next((row for row in rows if any(cell != "" for cell in row)), [])
    if not header:
        raise DataError(f"{where} is empty.", "Give a sheet with a header row and at least one row of data.")
    names = [_text(cell) or "" for cell in header]
    pieces: list[list[pa.Array]] = [[] for _ in names]
    # In a sheet of one column an empty row is an empty cell: dropping it would drop a person.
    alone = len(names) == 1
    people = (row for row in rows if alone or any(cell != "" for cell in row))
    while some := list(islice(people, _ROWS_AT_ONCE)):
        for column, cells in zip(pieces, zip(*some, strict=True), strict=True):
            column.append(_piece(cells))
    columns = {}
    for place, (name, parts) in enumerate(zip(names, pieces, strict=True), start=1):
        joined = _joined(parts, as_text=name in text)
        if not name and joined.null_count == len(joined):
            continue  # formatted, but nothing in it
        columns[place] = (name, joined)
    check_names(name for name, _ in columns.values())
    return pa.table([column for _, column in columns.values()], names=[name for name, _ in columns.values()])


def _piece(cells: tuple[Any, ...]) -> pa.Array:
    """Some cells of a column: typed where they are of one kind, else text."""
    values = [None if cell == "" else cell for cell in cells]
    types = {_TYPES.get(kind, pa.string()) for kind in set(map(type, values)) - {type(None)}}
    if types == {pa.date32(), pa.timestamp("us")}:  # a moment at midnight arrives as a date
        types, values = {pa.timestamp("us")}, [_moment(value) for value in values]
    if len(types) == 1 and types != {pa.string()}:
        return pa.array(values, types.pop())
    return pa.array([_text(value) for value in values], pa.string()) if types else pa.nulls(len(values))


def _joined(parts: list[pa.Array], *, as_text: bool) -> pa.ChunkedArray:
    types = {part.type for part in parts} - {pa.null()}
    if not types:
        return pa.chunked_array(parts, pa.null())
    if types == {pa.date32(), pa.timestamp("us")}:
        types = {pa.timestamp("us")}
    if len(types) > 1 or as_text:
        types, parts = {pa.string()}, [_as_text(part) for part in parts]
    kind = types.pop()
    whole = pa.chunked_array([part.cast(kind) for part in parts], kind)
    if pa.types.is_float64(kind):
        all_whole = pc.all(pc.equal(pc.floor(whole), whole)).as_py()
        if all_whole and pc.max(pc.abs(whole)).as_py() <= _EXACT:
            return whole.cast(pa.int64())
    return whole


def _as_text(part: pa.Array) -> pa.Array:
    if pa.types.is_string(part.type) or pa.types.is_null(part.type):
        return part.cast(pa.string())
    return pa.array([_text(value) for value in part.to_pylist()], pa.string())


def _text(value: Any) -> str | None:
    """As it would stand in a CSV file; nothing for an empty cell."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return str(int(value)) if float(value).is_integer() and abs(value) <= _EXACT else repr(value)
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else value.isoformat()
    return str(value)


def _moment(value: dt.date | dt.datetime | None) -> dt.datetime | None:
    if value is None or isinstance(value, dt.datetime):
        return value
    return dt.datetime.combine(value, dt.time())
