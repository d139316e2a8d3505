"""What a cell means, by its declared type alone. Every reader, frame and engine comes through here.

A cell has the same meaning however its column happens to be stored, because storage may depend on other cells: one gap
makes pandas store whole numbers as floats, one precise decimal gives all of them its scale, one word makes a column of
numbers text. So each rule below gives a stored value what it gives `text_of` that value. The rules stand in
docs/how-to/describe-a-table.md.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.errors import DataError, shortened
from coterie.schema.arrays import Codes, Floats
from coterie.schema.attributes import Attribute, AttributeType, Role
from coterie.schema.codebook import canonical_number, marked_by, ranges_of
from coterie.table.columns.column import EXACT, text_of

_TRUTH = {"true": "true", "yes": "true", "1": "true", "false": "false", "no": "false", "0": "false"}
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?$"
_ZONED = r"[ T][0-9:.]+(Z|[+-][0-9:]+)$"
# Python cells of one kind that Arrow stores as they are; any other mixture becomes text.
_STORED = {
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
    frozenset({str}): pa.string(),
    frozenset({dt.date}): pa.date32(),
    frozenset({dt.datetime}): pa.timestamp("us"),
    frozenset({dt.date, dt.datetime}): pa.timestamp("us"),
    frozenset[type](): pa.null(),
}
_SHOWN_LABELS = 12


def stored(name: str, cells: Sequence[Any]) -> pa.ChunkedArray:
    """Python cells as one Arrow column: typed where all are of one kind, else each as its own text."""
    kinds = frozenset(map(type, cells)) - {type(None)}
    kind = _STORED.get(kinds, pa.string())
    if dt.datetime in kinds and any(cell.tzinfo for cell in cells if isinstance(cell, dt.datetime)):
        kinds = frozenset({object})  # Arrow would take the zone away
    try:
        if kinds in _STORED:
            try:
                if dt.date in kinds and dt.datetime in kinds:
                    midnight = dt.time()
                    moments = [dt.datetime.combine(c, midnight) if type(c) is dt.date else c for c in cells]
                    return _chunked(pa.array(moments, kind))
                return _chunked(pa.array(cells, kind))
            except (pa.ArrowException, OverflowError):
                pass  # beyond int64, or an integer that no double carries
        return _chunked(pa.array([text_of(cell) for cell in cells], pa.string()))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # their messages quote the value
    raise DataError(
        f"Column '{name}' holds something that is neither number, text, date nor truth value.",
        "Correct that cell, or make the column one kind: numbers (with None for missing ones) or text.",
        detail=_at(next((row for row, cell in enumerate(cells, 1) if not _has_text(cell)), None)),
    )


def _has_text(cell: Any) -> bool:
    try:
        (text_of(cell) or "").encode()
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _chunked(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def numbers(column: pa.ChunkedArray, attribute: Attribute) -> Floats:
    """Continuous and integer attributes: the nearest double; NaN for a missing one."""
    column = _plain(column)
    kind = column.type
    if is_text(kind):
        column = _text_as_numbers(column, attribute)
    elif pa.types.is_decimal(kind):
        # Arrow's own way rounds differently for every scale, and the most precise cell decides the scale.
        column = column.cast(pa.string()).cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise DataError(
            f"Column '{attribute.name}' holds {_name(kind)}, not numbers.",
            f"Declare another type for '{attribute.name}' in the schema, or another role.",
        )
    values = _doubles(column.cast(pa.float64(), safe=False))
    if attribute.missing_marks:
        marks = [float(mark) for mark in attribute.missing_marks if is_number(mark)]
        values = np.where(np.isin(values, marks), np.nan, values)
        for lower, upper in ranges_of(attribute.missing_marks):
            values = np.where((values >= lower) & (values <= upper), np.nan, values)
    _check_numbers(values, attribute)
    return values


def _check_numbers(values: Floats, attribute: Attribute) -> None:
    if not len(values):
        return
    name = attribute.name
    # fmin and fmax pass over NaN.
    largest = max(-float(np.fmin.reduce(values)), float(np.fmax.reduce(values)))
    if largest == np.inf:
        raise DataError(
            f"Column '{name}' holds infinity, or a number beyond the range of doubles.",
            "Correct the table: no domain contains it.",
            detail=_at(first(np.isinf(values))),
        )
    if attribute.type is not AttributeType.INTEGER:
        return
    if largest > EXACT:
        raise DataError(
            f"Column '{name}' holds integers beyond ±2^53, which doubles cannot carry exactly.",
            "Rescale the attribute, or give it the role `identifier`.",
            detail=_at(first(np.abs(values) > EXACT)),
        )
    broken = (values != np.rint(values)) & ~np.isnan(values)
    if broken.any():
        raise DataError(
            f"Column '{name}' is declared integer, but has values with a fraction.",
            "Declare it `type: continuous`, or correct the table.",
            detail=_at(first(broken)),
        )


def _doubles(column: pa.ChunkedArray) -> Floats:
    """A single chunk without nulls is not copied; nulls become NaN."""
    if column.null_count or not len(column):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    # to_numpy would do, but it imports pandas.
    chunks: list[Floats] = [np.asarray(np.from_dlpack(chunk)) for chunk in column.chunks if len(chunk)]
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def _text_as_numbers(column: pa.ChunkedArray, attribute: Attribute) -> pa.ChunkedArray:
    """Text as doubles: 12, 1.5, -0.5, .5, 1e3, NaN; spaces around it do not count."""
    trimmed = without_marks(column, attribute)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    texts = trimmed.to_pylist()
    row = next(row for row, text in enumerate(texts, start=1) if text is not None and not is_number(text))
    commas = pc.any(pc.match_substring_regex(trimmed, r"^[+-]?[0-9]+,[0-9]+$")).as_py()
    raise DataError(
        f"Column '{attribute.name}' holds text that is not a number.",
        "Its numbers have a decimal comma: write `dialect: {decimal: ','}` in the schema, or decimal points."
        if commas
        else "Correct it, name what marks a missing value (`missing_marks`), or declare another type.",
        detail=_at(row),
    )


def is_number(text: str) -> bool:
    """Asked of Arrow, whose numbers are fewer than Python's (`1_000` is one only there)."""
    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def moments(column: pa.ChunkedArray, attribute: Attribute) -> Floats:
    """Dates as days, timestamps as seconds since 1970 (UTC where a zone is written, else as written); NaN for missing."""
    is_date = attribute.type is AttributeType.DATE
    column = _plain(column)
    kind = column.type
    to = pa.date32() if is_date else pa.timestamp("us")
    found = None
    try:
        if is_text(kind):
            texts = without_marks(column, attribute)
            found = _text_as_days(texts) if is_date else _text_as_moments(texts)
        elif pa.types.is_timestamp(kind):
            if kind.tz is not None:
                # The day on the wall where it happened; a moment is the same everywhere.
                column = pc.local_timestamp(column) if is_date else column.cast(pa.timestamp(kind.unit))
            if is_date:
                column = pc.floor_temporal(column, unit="day")
            found = _in_microseconds(column).cast(to)
        elif pa.types.is_date(kind) or pa.types.is_null(kind):
            found = column.cast(to)
    except pa.ArrowException:
        pass
    if found is None:
        shape = "2026-01-31" if is_date else "2026-01-31T12:00:00"
        raise DataError(
            f"Column '{attribute.name}' holds something that is not a {attribute.type.value}.",
            f"Write its values like {shape}, mark missing ones as empty, or declare another type. "
            "A text file's own format of dates is declared in the schema: `dialect: {date_format: '%d.%m.%Y'}`.",
            detail=_at(_first_odd(column, to, attribute)),
        )
    stamps = found.to_numpy(zero_copy_only=False).astype("datetime64[D]" if is_date else "datetime64[us]")
    values = stamps.astype(np.int64).astype(np.float64) / (1 if is_date else 1e6)
    values[np.isnat(stamps)] = np.nan
    if attribute.missing_marks:
        plain = attribute.model_copy(update={"missing_marks": ()})
        marks = [found for mark in attribute.missing_marks for found in _moment(mark, plain)]
        values[np.isin(values, marks)] = np.nan
    return np.asarray(values)


def _moment(text: str, attribute: Attribute) -> Sequence[float]:
    """What the text says as a cell; nothing where it is no moment."""
    try:
        return [float(value) for value in moments(pa.chunked_array([[text]], pa.string()), attribute)]
    except DataError:
        return []


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nanoseconds are cut off downwards, before 1970 too, as where the cell is written out."""
    if column.type.unit != "ns":
        return column
    return pc.floor_temporal(column, unit="microsecond").cast(pa.timestamp("us", column.type.tz))


def _text_as_days(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The day that is written, whatever time of day and zone follow it."""
    try:
        return texts.cast(pa.date32())
    except pa.ArrowInvalid:
        if not pc.all(pc.match_substring_regex(texts, _MOMENT)).as_py():
            raise
        _text_as_moments(texts)  # the time of day must be one too
        return pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())


def _text_as_moments(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(texts, _ZONED)
        nothing = pa.scalar(None, texts.type)
        there = pc.if_else(zoned, texts, nothing).cast(pa.timestamp("us", tz="UTC")).cast(pa.timestamp("us"))
        return pc.coalesce(there, pc.if_else(zoned, nothing, texts).cast(pa.timestamp("us")))


def _first_odd(column: pa.ChunkedArray, to: pa.DataType, attribute: Attribute) -> int | None:
    if not is_text(column.type):
        return None
    read = _text_as_days if pa.types.is_date(to) else _text_as_moments
    texts = without_marks(column, attribute)
    distinct = pc.unique(texts)
    for text in distinct.to_pylist():
        try:
            read(pa.chunked_array([[text]], pa.large_string()))
        except pa.ArrowException:
            return first(np.asarray(pc.fill_null(pc.equal(texts, text), False).to_numpy()))
    return None


def codes(column: pa.ChunkedArray, labels: Sequence[str], attribute: Attribute) -> Codes:
    """Labels and truth values: the place of each in the declared list, -1 for a missing one.

    A label is compared as text; where that finds none, as a number: 1, 1.0 and 1.00 are the label `1`; then as the words
    that `value_labels` gives a code.
    """
    texts, places = distinct(column, attribute)
    if attribute.type is AttributeType.BOOLEAN:
        texts = [None if text is None else _TRUTH.get(text.casefold(), text) for text in texts]
    exactly = {label: code for code, label in enumerate(labels)}
    known = {words: exactly[code] for words, code in attribute.codes_by_words.items() if code in exactly}
    known |= {canonical_number(label): code for code, label in reversed(list(enumerate(labels)))}
    known |= exactly
    # -2 marks a label that nobody declared.
    lookup = np.array(
        [-1 if text is None else known.get(text, known.get(canonical_number(text), -2)) for text in texts]
        or [-1],
        dtype=np.int32,
    )
    found = np.where(places < 0, np.int32(-1), lookup[places]).astype(np.int32)
    unknown = found == -2
    if unknown.any():
        raise DataError(
            f"Column '{attribute.name}' has values that are not among its labels.",
            f"Its labels are: {shortened(labels, _SHOWN_LABELS)}. "
            "Correct the values, declare the label, or name what marks a missing value (`missing_marks`).",
            detail=_at(first(unknown)),
        )
    return found


def distinct(column: pa.ChunkedArray, attribute: Attribute) -> tuple[list[str | None], NDArray[np.int64]]:
    """The texts of the distinct cells, and for each row which of them it has (-1: null)."""
    column = _plain(column)
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = _in_microseconds(column)
    elif pa.types.is_float16(kind):
        column = column.cast(pa.float64())
    try:
        encoded = pc.dictionary_encode(column).combine_chunks()
        texts = [text_of(value) for value in encoded.dictionary.to_pylist()]
    except (pa.ArrowException, TypeError, ValueError):
        raise DataError(
            f"Column '{attribute.name}' holds {_name(kind)}, which has no labels.",
            "Convert it to text first.",
        ) from None
    marked = marked_by(attribute.missing_marks)
    gaps = {"", *(words for words, code in attribute.codes_by_words.items() if marked(code))}
    trimmed = [text.strip() if text else "" for text in texts]
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return [None if text in gaps or marked(text) else text for text in trimmed], places


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves, where each distinct one is stored once (dictionary) or each run (run-end)."""
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if pa.types.is_run_end_encoded(column.type):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    return column


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def _name(kind: pa.DataType) -> str:
    """The type's name without what it holds: the fields of a struct may be names from a cell."""
    return re.split(r"[<(\[]", str(kind))[0]


def without_marks(column: pa.ChunkedArray, attribute: Attribute) -> pa.ChunkedArray:
    """Text, trimmed, with empty cells and the schema's marks as nulls."""
    trimmed = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    marks = pa.array(["", *attribute.missing_marks], pa.large_string())
    return pc.if_else(pc.is_in(trimmed, marks), pa.scalar(None, trimmed.type), trimmed)


def first(mask: NDArray[np.bool_]) -> int:
    """Number of the first marked row, counted from 1."""
    return int(mask.argmax()) + 1


def missing_values(attribute: Attribute, absent: NDArray[np.bool_]) -> DataError:
    name = attribute.name
    return DataError(
        f"Column '{name}' has missing values.",
        "It is the weight: give every row one, above 0."
        if attribute.role is Role.WEIGHT
        else f"Fill them, or write another policy for '{name}' in the schema: `missing: own category` counts them as an "
        "outcome and releases it, `impute` puts a public value in their place.",
        detail=_at(first(absent)),
    )


def _at(row: int | None) -> str:
    return "" if row is None else f"The first is in row {row}."


# Names of columns: each one text, none empty, none twice.


def check_names(names: Iterable[object]) -> None:
    listed = list(names)
    for position, name in enumerate(listed, start=1):
        if not isinstance(name, str):
            raise DataError(
                f"Column {position} is named by a {type(name).__name__}, not by text.",
                "Rename the columns to text, as the schema does.",
            )
        if not name:
            raise DataError(
                f"Column {position} has no name.",
                "Name every column in the first line of the file or sheet, with no title above it (row numbers too).",
            )
    twice = [name for name, count in Counter(listed).items() if count > 1]
    if twice:
        shown = shortened([f"'{name}'" for name in twice], 5)
        raise DataError(f"More than one column is named {shown}.", "Give each column its own name.")
