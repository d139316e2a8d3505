"""CSV in: one header line, UTF-8, empty cells are nulls; Arrow infers the types and nothing else is guessed.

Types are Arrow's: integer, float, boolean (`true`/`false`), ISO date and timestamp, else text. Only the empty
cell (quoted or not) is null: `NA`, `?` or `-` stay text. A code with leading zeros reads as a number.
"""

from __future__ import annotations

import csv
import gzip
import io
import mmap
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.csv as pacsv

from coterie.errors import DataError
from coterie.io.names import check_names

DELIMITERS = (",", ";", "\t")
_MARKS_OF_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"


def read_csv(path: Path, text: Collection[str] = ()) -> pa.Table:
    """Columns named in `text` are taken as they stand: 01234 stays a label with its zero."""
    content = _content(path)
    header, delimiter = _header(path)
    check_names(header)
    options = pacsv.ParseOptions(
        delimiter=delimiter,
        # Arrow's faster way splits blocks at any line break, also one inside quotes.
        newlines_in_values=content.find(b'"') >= 0,
        # In a file of one column an empty line is an empty cell: dropping it would drop a person.
        ignore_empty_lines=len(header) > 1,
    )
    try:
        table = pacsv.read_csv(
            _for_arrow(path, content),
            parse_options=options,
            convert_options=pacsv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                column_types={name: pa.string() for name in text if name in header},
            ),
        )
    except pa.ArrowInvalid:
        # Arrow's message quotes the row: it may not be shown, so the line is looked for again.
        raise _ragged(path, delimiter, len(header)) from None
    if table.column_names != header:
        raise DataError(f"The header of {path} is not its first line.", "Remove the empty lines before it.")
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise DataError(
                f"Column '{field.name}' of {path} is not UTF-8 text.",
                "Save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8').",
            )
    return table


def _for_arrow(path: Path, content: bytes | mmap.mmap) -> pa.NativeFile:
    """The same bytes in Arrow's own hands: one of its threads lets go of them last, maybe while Python is ending, and
    a thread that then has to ask Python to free them aborts the whole process."""
    if not isinstance(content, bytes):
        return pa.memory_map(str(path))
    held = pa.BufferOutputStream()
    held.write(content)
    return pa.BufferReader(held.getvalue())


def _content(path: Path) -> bytes | mmap.mmap:
    """All bytes, mapped rather than copied where the file is not compressed."""
    if _compressed(path):
        try:
            with gzip.open(path) as stream:
                content: bytes | mmap.mmap = stream.read()
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise DataError(
                f"{path} is not a complete gzip file.", "Copy or compress it again, or give the plain CSV."
            ) from None
    else:
        with path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    start = bytes(content[: 1 << 16])
    if start.startswith(_MARKS_OF_UTF16):
        raise DataError(f"{path} is UTF-16 text.", "Save it as UTF-8 (in a spreadsheet: 'CSV UTF-8').")
    if b"\0" in start:
        raise DataError(
            f"{path} holds bytes that no CSV file has.",
            "Check that it is text, not a spreadsheet.",
        )
    if not start.removeprefix(_UTF8_MARK).strip():
        raise DataError(f"{path} is empty.", "Give a file with a header line and at least one row.")
    return content


def _header(path: Path) -> tuple[list[str], str]:
    """The names, and the delimiter: the one of `,` `;` tab that splits the header into the most names.

    A comma wins a draw, and a header with none of them is one column.
    """
    try:
        splits = {}
        for delimiter in DELIMITERS:
            with _lines(path) as lines:
                splits[delimiter] = next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
    except csv.Error:
        raise DataError(
            f"The header of {path} cannot be read.", "Check the quotes in its first line."
        ) from None
    best = max(DELIMITERS, key=lambda delimiter: len(splits[delimiter]))
    if any("\udc80" <= letter <= "\udcff" for name in splits[best] for letter in name):
        raise DataError(
            f"The header of {path} is not UTF-8 text.", "Save it as UTF-8 (in a spreadsheet: 'CSV UTF-8')."
        )
    return splits[best], best


def _ragged(path: Path, delimiter: str, expected: int) -> DataError:
    start = 1
    try:
        with _lines(path) as lines:
            reader = csv.reader(lines, delimiter=delimiter)
            for row in reader:
                if row and len(row) != expected and "\n" in row[-1] and next(reader, None) is None:
                    return DataError(
                        f"Line {start} of {path} opens a quote that does not close in that line.",
                        "Close it, or write a quote inside a cell twice.",
                    )
                if row and len(row) != expected:
                    return DataError(
                        f"Line {start} of {path} has {len(row)} cells; the header has {expected}.",
                        "Correct that line, or quote the cell that holds the delimiter.",
                    )
                start = reader.line_num + 1
    except csv.Error:
        return DataError(
            f"Line {start} of {path} cannot be read as CSV.", "Check its quotes, and save the file as UTF-8."
        )
    return DataError(
        f"{path} cannot be read as CSV.",
        "Check that every quote is closed and every line has as many cells as the header.",
    )


def _lines(path: Path) -> TextIO:
    """The text; bytes that are not UTF-8 arrive as the code points U+DC80 to U+DCFF."""
    if _compressed(path):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
