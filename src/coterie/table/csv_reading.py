"""CSV in: one header line, then rows of the declared dialect (RFC 4180, UTF-8 and decimal points unless the schema says so).

Nothing about the rows is guessed when there is a schema: numbers are read as numbers, everything else as text. The
grammar is strict, because a reader that makes the best of a stray quote lets one cell swallow others: a quote opens at
the start of a cell and closes at its end, every row has as many cells as the header, a line ends in LF or CRLF.
Without a schema (a draft) Arrow infers the types. Only the empty cell (quoted or not) is null: `NA`, `?` or `-` stay text.
"""

from __future__ import annotations

import csv
import gzip
import io
import mmap
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from coterie.errors import DataError
from coterie.schema.attributes import Attribute, AttributeType, Schema
from coterie.schema.codebook import mark_range
from coterie.schema.dialect import DELIMITERS, Dialect
from coterie.schema.survey_words import are_gaps
from coterie.table.columns.cells import check_names, is_number, without_marks

_MARKS_OF_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"
_BLOCK = 1 << 25  # bytes of the file looked at together
_LONGEST_HEADER = 1 << 20
Content = bytes | mmap.mmap


def read_csv(
    path: Path, schema: Schema | None = None, *, dialect: Dialect | None = None, as_text: bool = False
) -> pa.Table:
    """Read a CSV file by the schema and its dialect. Without a schema, types are inferred (or not: `as_text`)."""
    dialect = dialect or (schema.dialect if schema else Dialect())
    content = _content(path, dialect)
    header, delimiter = _header(path, content, dialect)
    check_names(header)
    quoted = _check_grammar(path, content, dialect, delimiter)
    source = _for_arrow(path, content)
    options = pacsv.ParseOptions(
        delimiter=delimiter,
        quote_char=dialect.quote or False,
        escape_char=dialect.escape or False,
        # Arrow's faster way splits blocks at any line break, also one inside quotes.
        newlines_in_values=quoted,
        # In a file of one column an empty line is an empty cell: dropping it would drop a person.
        ignore_empty_lines=len(header) > 1,
    )

    def parsed(types: dict[str, pa.DataType]) -> pa.Table:
        source.seek(0)
        return pacsv.read_csv(
            source,
            parse_options=options,
            convert_options=pacsv.ConvertOptions(
                null_values=[""], strings_can_be_null=True, column_types=types, decimal_point=dialect.decimal
            ),
        )

    try:
        if schema is None:
            table = parsed(dict.fromkeys(header, pa.string()) if as_text else {})
            if not as_text and (whole := _codes(content, table)):
                texts = parsed(dict.fromkeys(whole, pa.string()))
                for name in whole:
                    if pc.any(pc.match_substring_regex(texts[name], _ZERO_FIRST)).as_py():
                        table = table.set_column(header.index(name), name, texts[name])
        else:
            described = {attribute.name: attribute for attribute in schema.in_file.attributes}
            types = {name: _arrow_type(described.get(name)) for name in header}
            try:
                table = parsed(types)
            except pa.ArrowInvalid:
                # A cell that Arrow's parser of numbers does not know: ours says what it is.
                if pa.float64() not in types.values():
                    raise
                table = parsed(dict.fromkeys(header, pa.string()))
    except pa.ArrowInvalid:
        # Arrow's message quotes the row: it may not be shown, so the line is looked for again.
        raise _ragged(path, content, dialect, delimiter, len(header)) from None
    if table.column_names != header:
        raise DataError(f"The header of {path} is not its first line.", "Remove the empty lines before it.")
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise _not_utf8(f"Column '{field.name}' of {path}")
    if schema is not None:
        return _typed(table, schema, dialect)
    return table if as_text or dialect == Dialect() else _as_guessed(table, dialect)


def _arrow_type(attribute: Attribute | None) -> pa.DataType:
    if attribute is None or not _is_number(attribute):
        return pa.string()
    # A mark such as NA is no number: then the column is text first.
    numbers = all(is_number(mark) or mark_range(mark) for mark in attribute.missing_marks)
    return pa.float64() if numbers else pa.string()


def _is_number(attribute: Attribute) -> bool:
    return attribute.is_protected and attribute.type.has_zero


def _typed(table: pa.Table, schema: Schema, dialect: Dialect) -> pa.Table:
    """Numbers that are text still, and dates in the file's own format, as others write them."""
    own_numbers = dialect.decimal == "," or dialect.thousands
    if not own_numbers and not dialect.date_format:
        return table
    for attribute in schema.in_file.attributes:
        place = table.schema.get_field_index(attribute.name)
        if place < 0:
            continue
        column = table.column(place)
        if own_numbers and pa.types.is_string(column.type) and _is_number(attribute):
            column = _as_numbers(without_marks(column, attribute), dialect)
        elif dialect.date_format and attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
            # A mark is written as the file writes its cells.
            column = _as_iso(without_marks(column, attribute), dialect)
        else:
            continue
        table = table.set_column(place, attribute.name, column)
    return table


def _as_numbers(texts: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Numbers as others write them; what the dialect does not call one becomes a text that is none."""
    none = pa.scalar("not a number", texts.type)
    if dialect.thousands:
        plain = pc.replace_substring(texts, dialect.thousands, "")
        grouped = pc.match_substring_regex(texts, dialect.grouped_pattern())
        marked = pc.match_substring(texts, dialect.thousands)
        texts = pc.if_else(marked, pc.if_else(grouped, plain, none), texts)
    if dialect.decimal == ",":
        # A point is no decimal mark in such a file: 1.500 may be meant as a thousand and a half.
        texts = pc.if_else(pc.match_substring(texts, "."), none, pc.replace_substring(texts, ",", "."))
    return texts


def _as_guessed(table: pa.Table, dialect: Dialect) -> pa.Table:
    """Read columns of numbers or dates in the file's own way of writing, where all cells are and there is no schema.

    Numbers among which something like NA stands stay text, but as others write them.
    """
    for place, column in enumerate(table.columns):
        if not pa.types.is_string(column.type) or column.null_count == len(column):
            continue
        for kind in _GUESSED if dialect.date_format else _GUESSED[:1]:
            gaps = are_gaps(column)
            if pa.types.is_floating(kind):
                if pc.any(pc.match_substring_regex(column, _ZERO_FIRST)).as_py():
                    continue
                texts = _as_numbers(pc.utf8_trim_whitespace(column), dialect)
            else:
                texts = _as_iso(column, dialect)
            try:
                found = pc.if_else(gaps, pa.scalar(None, texts.type), texts).cast(kind)
            except pa.ArrowInvalid:
                continue
            if pc.any(gaps).as_py():
                found = pc.if_else(gaps, column, texts)
            table = table.set_column(place, table.column_names[place], found)
            break
    return table


_GUESSED = (pa.float64(), pa.date32(), pa.timestamp("us"))
# A code such as 007, which a number would lose the zeros of.
_ZERO_FIRST = "^0[0-9]+$"
_LEADING_ZERO = re.compile(rb"(?:^|[,;|\t\n\"])0[0-9]+(?=[,;|\t\r\n\"]|$)")


def _codes(content: Content, table: pa.Table) -> list[str]:
    """Columns of whole numbers in a file where some cell begins with a zero: any of them may be a code."""
    if _LEADING_ZERO.search(content) is None:
        return []
    return [field.name for field in table.schema if pa.types.is_integer(field.type)]


def _as_iso(column: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    found = dialect.iso_pattern()
    assert found is not None
    trimmed = pc.utf8_trim_whitespace(column)
    own = pc.match_substring_regex(trimmed, found[0])
    texts = pc.replace_substring_regex(trimmed, found[0], found[1])
    texts = pc.replace_substring_regex(texts, r"^([0-9]{4})-([0-9])-", r"\1-0\2-")
    texts = pc.replace_substring_regex(texts, r"^([0-9]{4}-[0-9]{2})-([0-9])([ T]|$)", r"\1-0\2\3")
    return pc.if_else(own, texts, trimmed)


def _for_arrow(path: Path, content: Content) -> pa.NativeFile:
    """The same bytes in Arrow's own hands: one of its threads lets go of them last, maybe while Python is ending, and
    a thread that then has to ask Python to free them aborts the whole process."""
    if not isinstance(content, bytes):
        return pa.memory_map(str(path))
    held = pa.BufferOutputStream()
    held.write(content)
    return pa.BufferReader(held.getvalue())


def _content(path: Path, dialect: Dialect) -> Content:
    """All bytes as UTF-8, mapped rather than copied where the file is that already."""
    content: Content
    if path.name.lower().endswith(".gz"):
        try:
            with gzip.open(path) as stream:
                content = stream.read()
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise DataError(
                f"{path} is not a complete gzip file.", "Copy or compress it again, or give the plain CSV."
            ) from None
    else:
        with path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    if dialect.encoding != "utf-8":
        try:
            content = bytes(content[:]).decode(dialect.encoding).removeprefix("\ufeff").encode()
        except (UnicodeError, ValueError):
            raise DataError(
                f"{path} is not text in the encoding {dialect.encoding}.",
                "Correct `dialect: {encoding: …}` in the schema, or save the file as UTF-8.",
            ) from None
    start = bytes(content[: 1 << 16])
    if start.startswith(_MARKS_OF_UTF16):
        raise DataError(
            f"{path} is UTF-16 text.",
            "Save it as UTF-8 (in a spreadsheet: 'CSV UTF-8'), or write `dialect: {encoding: utf-16}` in the schema.",
        )
    if _holds(content, b"\0"):
        raise DataError(
            f"{path} holds bytes that no CSV file has.", "Check that it is text, not a spreadsheet."
        )
    if not start.removeprefix(_UTF8_MARK).strip():
        raise DataError(f"{path} is empty.", "Give a file with a header line and at least one row.")
    return content if _holds(content, b"\n") else bytes(content[:]) + b"\n"  # a header alone


def _holds(content: Content, mark: bytes) -> bool:
    """Block by block: `find` of a mapped file takes 20 times as long."""
    return any(mark in content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK))


def _header(path: Path, content: Content, dialect: Dialect) -> tuple[list[str], str]:
    """The names, and the delimiter: the declared one, or the one that splits the header into the most names and leaves its
    quotes around whole names. A comma wins a draw, and a header with none of them is one column. No row is looked at."""
    start = bytes(content[:_LONGEST_HEADER]).removeprefix(_UTF8_MARK)
    possible = [dialect.delimiter] if dialect.delimiter else [d for d in DELIMITERS if d != dialect.decimal]
    try:
        text = start.decode(errors="surrogateescape")
        splits: dict[str, list[str]] = {
            delimiter: next((row for row in _rows(text, dialect, delimiter) if row), [])
            for delimiter in possible
        }
    except csv.Error:
        raise DataError(
            f"The header of {path} cannot be read.", "Check the quotes in its first line."
        ) from None
    line, quote = np.frombuffer(start[: start.find(b"\n")], np.uint8), ord(dialect.quote or "\0")
    best = max(possible, key=lambda mark: (_stray_quote(line, quote, ord(mark)) is None, len(splits[mark])))
    if any("\udc80" <= letter <= "\udcff" for name in splits[best] for letter in name):
        raise _not_utf8(f"The header of {path}")
    return splits[best], best


def _rows(text: str, dialect: Dialect, delimiter: str) -> Any:
    return csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quotechar=dialect.quote,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape,
    )


def _not_utf8(what: str) -> DataError:
    return DataError(
        f"{what} is not UTF-8 text.",
        "Save the file as UTF-8 (in a spreadsheet: 'CSV UTF-8'), or declare it in the schema: "
        "`dialect: {encoding: cp1252}`.",
    )


def _check_grammar(path: Path, content: Content, dialect: Dialect, delimiter: str) -> bool:
    """Refuse stray quotes and lone carriage returns; say whether a cell may hold a line break."""
    escape = (dialect.escape or "").encode()
    escaped = bool(escape) and _holds(content, escape)
    quoted = dialect.quote is not None and _holds(content, dialect.quote.encode())
    returns = _holds(content, b"\r")
    if not (quoted or escaped or returns):
        return False
    letters: NDArray[np.uint8] = np.frombuffer(content, np.uint8)
    if letters[:3].tobytes() == _UTF8_MARK:
        letters = letters[3:]
    if escaped:
        letters = _without_escaped(letters, escape[0])
    if returns and _lone_return(letters, ord(dialect.quote or "\0")):
        raise DataError(
            f"{path} has a carriage return that ends no line.",
            "End every line with LF or CRLF, and quote the cells that hold one.",
        )
    if quoted:
        assert dialect.quote is not None
        wrong = _stray_quote(letters, ord(dialect.quote), ord(delimiter))
        if wrong is not None:
            line = 1 + sum(
                int(np.count_nonzero(letters[at : min(at + _BLOCK, wrong)] == ord("\n")))
                for at in range(0, wrong, _BLOCK)
            )
            raise DataError(
                f"{path} has a quote inside a cell, or one that is never closed.",
                "Quote the whole cell and write the quote inside it twice. If the file quotes nothing, write "
                "`dialect: {quote: null}` in the schema.",
                detail=f"Look at line {line:,}, or before it.",
            )
    return quoted or escaped


def _lone_return(letters: NDArray[np.uint8], quote: int) -> bool:
    """Whether a carriage return stands outside of quotes with no line feed after it: Arrow would end the line there."""
    inside = 0
    for at in range(0, len(letters), _BLOCK):
        block = letters[at : at + _BLOCK]
        quotes = np.flatnonzero(block == quote)
        places = np.flatnonzero(block == ord("\r"))
        following = letters[np.minimum(places + at + 1, len(letters) - 1)]
        lone = places[following != ord("\n")]
        if ((np.searchsorted(quotes, lone) + inside) % 2 == 0).any():
            return True
        inside = (inside + len(quotes)) % 2
    return False


def _stray_quote(letters: NDArray[np.uint8], quote: int, delimiter: int) -> int | None:
    """Quotes open and close in turn. One opens at the start of a cell, or closes at its end, or stands beside another:
    a doubled one closes and opens again. The place of the first that does neither, or of the last if it stays open."""
    before_one = np.zeros(256, dtype=np.bool_)
    before_one[[delimiter, ord("\n"), quote]] = True
    after_one = before_one.copy()
    after_one[ord("\r")] = True
    count, last = 0, 0
    for at in range(0, len(letters), _BLOCK):
        places = np.flatnonzero(letters[at : at + _BLOCK] == quote) + at
        if not len(places):
            continue
        opening, closing = places[count % 2 :: 2], places[1 - count % 2 :: 2]
        count, last = count + len(places), int(places[-1])
        fine = before_one[letters[opening - 1]] | (opening == 0)
        after = letters[np.minimum(closing + 1, len(letters) - 1)]
        ends = after_one[after] | (closing == len(letters) - 1)
        wrong = np.concatenate([opening[~fine], closing[~ends]])
        if len(wrong):
            return int(wrong.min())
    return last if count % 2 else None


def _without_escaped(letters: NDArray[np.uint8], escape: int) -> NDArray[np.uint8]:
    """What follows an escape is a letter of its cell and no mark."""
    places = np.flatnonzero(letters == escape)
    starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    run = np.arange(len(places)) - np.repeat(starts, np.diff(starts, append=len(places)))
    plain = letters.copy()
    following = places[run % 2 == 0] + 1
    plain[following[following < len(plain)]] = ord("x")
    return plain


def _ragged(path: Path, content: Content, dialect: Dialect, delimiter: str, expected: int) -> DataError:
    """Which line has another number of cells than the header; only for the message, so slowly."""
    start = 1
    try:
        text = bytes(content[:]).removeprefix(_UTF8_MARK).decode()
        reader = _rows(text, dialect, delimiter)
        for row in reader:
            if row and len(row) != expected:
                return DataError(
                    f"A line of {path} has more or fewer cells than the header.",
                    "Correct that line, or quote the cell that holds the delimiter.",
                    detail=f"Line {start:,} has {len(row)} instead of {expected}.",
                )
            start = reader.line_num + 1
    except UnicodeDecodeError:
        return _not_utf8(str(path))
    except csv.Error:
        pass
    return DataError(
        f"{path} cannot be read as CSV.",
        "Check that every quote is closed and every line has as many cells as the header.",
    )
