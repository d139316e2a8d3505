"""A sheet of a workbook in (.xlsx, .xlsm, .xls, .ods): one header row, empty cells are nulls.

A cell is what coterie.table.columns.cells makes of it: `NA` among numbers makes no error here, and the schema may name it in
`missing_marks`. Cells with an error such as #N/A count as empty, and formulas as the value that was stored with them.
Without a schema a column is what its cells are: numbers (integers where all are whole), truth values, dates or text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import DataError, MissingExtra, nearest
from coterie.schema.attributes import Schema, check_names
from coterie.table.columns.cells import EXACT, stored, text_of

_ROWS_AT_ONCE = 1 << 14  # cells arrive as Python objects: never all at once


def read_sheet(path: Path, schema: Schema | None = None, sheet: str | None = None) -> pa.Table:
    """The named sheet, or the first visible one. With a schema, all columns but protected numbers become text."""
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
    return _table(rows, f"Sheet '{named}' of {path}", schema)


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


def _table(rows: Iterator[list[Any]], where: str, schema: Schema | None) -> pa.Table:
    header: list[Any] = next((row for row in rows if any(cell != "" for cell in row)), [])
    if not header:
        raise DataError(f"{where} is empty.", "Give a sheet with a header row and at least one row of data.")
    names = [text_of(cell) or "" for cell in header]
    pieces: list[list[pa.ChunkedArray]] = [[] for _ in names]
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        for name, column, cells in zip(names, pieces, zip(*some, strict=True), strict=True):
            column.append(stored(name, [None if cell == "" else cell for cell in cells]))
    numbers = None if schema is None else {a.name for a in schema.protected if a.type.has_zero}
    columns = {}
    for place, (name, parts) in enumerate(zip(names, pieces, strict=True), start=1):
        joined = _joined(parts, as_text=numbers is not None and name not in numbers)
        if not name and joined.null_count == len(joined):
            continue  # formatted, but nothing in it
        columns[place] = (name, joined)
    check_names(name for name, _ in columns.values())
    return pa.table([column for _, column in columns.values()], names=[name for name, _ in columns.values()])


def _joined(parts: list[pa.ChunkedArray], *, as_text: bool) -> pa.ChunkedArray:
    """One column of several pieces: typed where all are alike, else text."""
    types = {part.type for part in parts} - {pa.null()}
    if len(types) > 1 or as_text:
        types, parts = {pa.string()}, [_as_text(part) for part in parts]
    kind = types.pop() if types else pa.null()
    whole = pa.chunked_array([chunk for part in parts for chunk in part.cast(kind).chunks], kind)
    if pa.types.is_float64(kind):
        all_whole = pc.all(pc.equal(pc.floor(whole), whole)).as_py()
        if all_whole and pc.max(pc.abs(whole)).as_py() <= EXACT:
            return whole.cast(pa.int64())
    return whole


def _as_text(part: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(part.type) or pa.types.is_null(part.type):
        return part.cast(pa.string())
    return pa.chunked_array([[text_of(value) for value in part.to_pylist()]], pa.string())
