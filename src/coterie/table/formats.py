"""Files of released and read tables: Parquet and Arrow in and out, CSV out, spreadsheets in. (CSV in: csv_reading.)"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from coterie.errors import DataError, MissingExtra, OutputError, nearest, shortened
from coterie.schema.attributes import Schema
from coterie.table.columns.cells import check_names, is_text, stored
from coterie.table.columns.column import EXACT, text_of

# Parquet and Arrow IPC files, in and out.

_PARQUET_MAGIC = b"PAR1"
_ARROW_FILE_MAGIC = b"ARROW1"
_FEATHER_1_MAGIC = b"FEA1"


def read_parquet(path: Path) -> pa.Table:
    if _start(path, 4) != _PARQUET_MAGIC:
        raise DataError(
            f"{path} is not a Parquet file, whatever its name says.",
            "Give it the ending of what it is: .csv, .csv.gz, .arrow or .feather.",
        )
    try:
        # Not pq.read_table: that would take columns from folder names such as `year=2020/`.
        with pq.ParquetFile(path, memory_map=True) as file:
            return file.read()
    except (pa.ArrowException, OSError):
        raise DataError(
            f"{path} is a damaged or unfinished Parquet file.", "Copy or write it again."
        ) from None


def read_arrow(path: Path) -> pa.Table:
    """Feather 2 is the Arrow IPC file format; a stream has no magic word and is recognised by reading it."""
    start = _start(path, 6)
    if start.startswith(_FEATHER_1_MAGIC):
        raise DataError(f"{path} is a Feather file of version 1.", "Write it again as Feather 2 or Parquet.")
    try:
        with pa.memory_map(str(path)) as source:
            opened = ipc.open_file(source) if start == _ARROW_FILE_MAGIC else ipc.open_stream(source)
            return opened.read_all()
    except (pa.ArrowException, OSError, EOFError):
        raise DataError(
            f"{path} is not a complete Arrow or Feather file.",
            "Write it again, or give it the ending of what it is: .csv, .csv.gz or .parquet.",
        ) from None


def write_parquet(table: pa.Table, sink: BinaryIO) -> None:
    pq.write_table(table, sink, **_parquet_options(table.schema))


def stream_parquet(batches: pa.RecordBatchReader, sink: BinaryIO) -> None:
    """Write one row group per batch: no more than that is ever in memory."""
    with pq.ParquetWriter(sink, batches.schema, **_parquet_options(batches.schema)) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _parquet_options(schema: pa.Schema) -> dict[str, Any]:
    # Snappy: three times as fast as zstd. A dictionary of floats costs half of the time and saves nothing; longer
    # batches save a twentieth.
    repetitive = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return {"compression": "snappy", "use_dictionary": repetitive or False, "write_batch_size": 1 << 16}


def write_arrow(table: pa.Table, sink: BinaryIO) -> None:
    with ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def stream_arrow(batches: pa.RecordBatchReader, sink: BinaryIO) -> None:
    with ipc.new_file(sink, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _start(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length)


# CSV out: header always, shortest text that reads back as the same number, `\n`, quotes only where needed.
#
# Arrow's own writer quotes every text cell and every name, so lines are joined here, a batch at a time.

_ROWS_PER_BATCH = 1 << 16
_NEEDS_QUOTES = r'[",\r\n]|^\s|\s$'


def write_csv(table: pa.Table, sink: BinaryIO) -> None:
    names = [_cells(_text(name)).as_py() for name in table.column_names]
    sink.write((",".join(names) + "\n").encode())
    for batch in table.to_batches(max_chunksize=_ROWS_PER_BATCH):
        if not batch.num_rows or not batch.num_columns:
            continue
        columns = [
            _column(name, array) for name, array in zip(table.column_names, batch.columns, strict=True)
        ]
        lines = columns[0]
        if len(columns) > 1:
            lines = pc.binary_join_element_wise(*columns, _text(","))
        whole = pa.LargeListArray.from_arrays(_ends(len(lines), pa.int64()), lines)
        sink.write(pc.binary_join(whole, _text("\n"))[0].as_buffer())
        sink.write(b"\n")


def _column(name: str, array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_nested(array.type) or pa.types.is_binary(array.type):
        raise OutputError(
            f"Column '{name}' cannot be written as CSV: it is no number, text, date or truth value.",
            "Write .parquet or .arrow, or drop the column.",
        )
    cells = pc.cast(array, pa.string())
    if is_text(array.type):
        cells = _cells(cells)
    return pc.fill_null(cells, _text(""))


def _cells(text: Any) -> Any:
    """Text, quoted where a reader would otherwise split or trim it."""
    doubled = pc.replace_substring(text, '"', '""')
    quoted = pc.binary_join_element_wise(_text('"'), doubled, _text('"'), _text(""))
    return pc.if_else(pc.match_substring_regex(text, _NEEDS_QUOTES), quoted, text)


def _text(words: str) -> pa.Scalar:
    """What pa.scalar makes of it; but that (and a bare str in its place) imports pandas, longer than most tables take."""
    data = words.encode()
    return pa.Array.from_buffers(
        pa.string(), 1, [None, _ends(len(data), pa.int32()).buffers()[1], pa.py_buffer(data)]
    )[0]


def _ends(length: int, kind: pa.DataType) -> pa.Array:
    """Where the only entry of an array begins and ends."""
    ends = np.array([0, length], dtype=kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(ends)])


# A sheet of a workbook in (.xlsx, .xlsm, .xls, .ods): one header row, empty cells are nulls.
#
# A cell is what coterie.table.columns.cells makes of it: `NA` among numbers is no error, and the schema may name it in
# `missing_marks`. Cells with an error such as #N/A count as empty, and formulas as the value that was stored with them.
# Without a schema a column is what its cells are: numbers (integers where all are whole), truth values, dates or text.

_ROWS_AT_ONCE = 1 << 14  # cells arrive as Python objects: never all at once


def read_sheet(path: Path, schema: Schema | None = None, sheet: str | None = None) -> pa.Table:
    """The named sheet, or the only one. With a schema, all columns but protected numbers become text."""
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
        if len(visible) > 1:  # an empty one beside it is no question
            visible = [name for name in visible if book.get_sheet_by_name(name).total_height] or visible[:1]
        if not visible:
            raise DataError(f"{path} has no visible sheet.", "Name the sheet to read.")
        if len(visible) > 1:
            raise DataError(
                f"{path} has {len(visible)} sheets: {shortened(visible)}.",
                'Name the one with the table: --table SHEET (Python: table="SHEET").',
            )
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
    numbers = None if schema is None else {a.name for a in schema.in_file.protected if a.type.has_zero}
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
