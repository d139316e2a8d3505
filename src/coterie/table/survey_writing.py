"""SPSS and Stata files out: labels, missing codes and display formats from the schema alone.

Storage follows from the declared type, as everywhere (coterie.table.columns.column). Dates and timestamps are numbers with
a format, truth values are 0 and 1, a missing value is the system's own gap. pyreadstat writes to a path, so the file grows
in a private folder first, and its bytes then go to the sink that hashes and stages them.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import MissingExtra, OutputError
from coterie.schema.attributes import Attribute, AttributeType, Role, Schema
from coterie.schema.codebook import ranges_of
from coterie.table.columns.cells import is_number, is_text
from coterie.table.survey_files import DAY, SPSS, STATA, Moments

_LARGEST = sys.float_info.max  # SPSS's LOWEST and HIGHEST
_INT32 = 2**31 - 101  # Stata keeps the largest for its gaps
_SPSS_WORDS = ("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with")


class _Kind(NamedTuple):
    """What a program allows."""

    program: str
    name: re.Pattern[str]
    longest_name: int  # bytes
    longest_label: int  # bytes, of a variable
    longest_words: int  # bytes, of a value
    date: str
    timestamp: str
    moments: Moments


_SPSS = _Kind("SPSS", re.compile(r"[^\W\d_][\w.$#@]*(?<![.])"), 64, 255, 120, "DATE11", "DATETIME20", SPSS)
_STATA = _Kind("Stata", re.compile(r"[^\W\d]\w*"), 32, 80, 32_000, "%td", "%tc", STATA)
_KINDS = {".sav": _SPSS, ".zsav": _SPSS, ".dta": _STATA}
SURVEY_ENDINGS = tuple(_KINDS)


def require_writable(ending: str, schema: Schema) -> None:
    """Say before any noise is drawn that a name has no place in the format."""
    _library(_KINDS[ending])
    _check_names([a.name for a in schema.attributes if a.role is not Role.IDENTIFIER], _KINDS[ending])


def _library(kind: _Kind) -> Any:
    try:
        import pandas  # noqa: F401  (pyreadstat writes its frames)
        import pyreadstat
    except ImportError:
        raise MissingExtra.named("survey", f"Writing a file for {kind.program}") from None
    return pyreadstat


def _check_names(names: Sequence[str], kind: _Kind) -> None:
    for name in names:
        reserved = kind is _SPSS and name.casefold() in _SPSS_WORDS
        if not kind.name.fullmatch(name) or len(name.encode()) > kind.longest_name or reserved:
            raise OutputError(
                f"'{name}' cannot be the name of a variable in {kind.program}.",
                f"Rename the column (a letter, then letters, digits and _, at most {kind.longest_name} bytes), "
                "or write .parquet or .csv.",
            )
    folded = [name.casefold() for name in names]
    twice = [name for name in names if folded.count(name.casefold()) > 1] if kind is _SPSS else []
    if twice:
        raise OutputError(
            f"'{twice[0]}' and '{twice[1]}' are one name to SPSS, which does not tell capitals apart.",
            "Rename one of the two columns, or write .dta, .parquet or .csv.",
        )


def write_survey(ending: str, table: pa.Table, sink: BinaryIO, schema: Schema | None = None) -> None:
    """The table as an SPSS or Stata file. Without a schema there are no labels."""
    import pandas as pd

    kind, attributes = _KINDS[ending], {a.name: a for a in schema.attributes} if schema is not None else {}
    library = _library(kind)
    _check_names(table.column_names, kind)
    stored = {
        name: _stored(column, attributes.get(name), kind, name)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    frame = pd.DataFrame({name: _series(column) for name, (column, _) in stored.items()}, copy=False)
    options: dict[str, Any] = {
        "column_labels": {
            a.name: _cut(a.label, kind.longest_label) for a in attributes.values() if a.label is not None
        },
        "variable_format": {name: written for name, (_, written) in stored.items() if written},
        "variable_value_labels": {
            name: labels
            for name, (column, _) in stored.items()
            if name in attributes and (labels := _labels(attributes[name], column.type, kind))
        },
    }
    if kind is _SPSS:
        described = [(attributes[name], column) for name, (column, _) in stored.items() if name in attributes]
        missing = {a.name: _missing(a, as_text=pa.types.is_string(column.type)) for a, column in described}
        options["missing_ranges"] = {name: found for name, found in missing.items() if found}
        options["variable_measure"] = {a.name: _measure(a) for a, _ in described}
        options["compress" if ending == ".zsav" else "row_compress"] = True
    with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
        path = Path(folder) / f"release{ending}"
        try:
            (library.write_sav if kind is _SPSS else library.write_dta)(frame, str(path), **options)
        except (library.PyreadstatError, library.ReadstatError, ValueError, OverflowError):
            raise OutputError(
                f"The table cannot be written as a file of {kind.program}.",
                "Write .parquet or .csv, or shorten texts and drop columns that are no numbers, texts or dates.",
            ) from None
        with path.open("rb") as written:
            shutil.copyfileobj(written, sink, 1 << 20)


def _stored(
    column: pa.ChunkedArray, attribute: Attribute | None, kind: _Kind, name: str
) -> tuple[pa.ChunkedArray, str]:
    """The column as the program keeps it, and how it shows it."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    own = attribute.format if attribute is not None and attribute.format else ""
    if own.startswith("%") is not (kind is _STATA):
        own = ""  # of the other program
    if is_text(column.type) and _are_numbers(attribute):
        column = column.cast(pa.float64())
    found = column.type
    if pa.types.is_date(found):
        days = column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
        since = pc.add(days, float(kind.moments.days_before_1970))
        return pc.multiply(since, float(DAY if kind.moments.dates_in_seconds else 1)), own or kind.date
    if pa.types.is_timestamp(found):
        seconds = pc.divide(column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
        since = pc.add(seconds, float(kind.moments.days_before_1970 * DAY))
        return pc.multiply(since, float(kind.moments.second)), own or kind.timestamp
    if is_text(found) or pa.types.is_null(found):
        return pc.fill_null(column.cast(pa.string()), ""), own
    if pa.types.is_boolean(found):
        return column.cast(pa.int32()), own or _number_format(kind, 0)
    if pa.types.is_integer(found):
        return column.cast(pa.int32() if _is_small(attribute) else pa.float64()), own or _number_format(
            kind, 0
        )
    if pa.types.is_floating(found) or pa.types.is_decimal(found):
        decimals = attribute.decimals if attribute is not None else None
        return column.cast(pa.float64()), own or ("" if decimals is None else _number_format(kind, decimals))
    raise OutputError(
        f"Column '{name}' cannot be written as a variable of {kind.program}: it is no number, text, date or truth value.",
        "Write .parquet or .arrow, or drop the column.",
    )


def _series(column: pa.ChunkedArray) -> Any:
    """The column for pandas: whole numbers that may be missing are nullable, so that the type does not follow the cells."""
    import pandas as pd

    if pa.types.is_int32(column.type):
        return pd.Series(column.to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get))
    return column.to_pandas()


def _is_small(attribute: Attribute | None) -> bool:
    """Whether all values fit 32 bits, by what is declared: labels or a domain."""
    if attribute is None:
        return False
    if attribute.type is AttributeType.INTEGER and attribute.domain is not None:
        return max(abs(attribute.domain.lower), abs(attribute.domain.upper)) <= _INT32
    labels = attribute.categories.labels if attribute.categories is not None else None
    codes = [*(labels or ()), *(code for code, _ in attribute.value_labels or () if is_number(code))]
    return bool(labels) and all(_is_whole(code) and abs(int(float(code))) <= _INT32 for code in codes)


def _is_whole(text: str) -> bool:
    return is_number(text) and float(text).is_integer()


def _are_numbers(attribute: Attribute | None) -> bool:
    """Codes such as 0.5; not 01, whose zero a number would lose. (A kept column stays what it is.)"""
    if attribute is None or attribute.role is Role.KEEP or attribute.categories is None:
        return False
    labels = attribute.categories.labels or ()
    return bool(labels) and all(
        is_number(label) and repr(float(label)).removesuffix(".0") == label for label in labels
    )


def _number_format(kind: _Kind, decimals: int) -> str:
    return f"F{max(8, decimals + 6)}.{decimals}" if kind is _SPSS else f"%{max(9, decimals + 7)}.{decimals}f"


def _labels(attribute: Attribute, stored: pa.DataType, kind: _Kind) -> dict[Any, str]:
    """Codes and their words, each code as the column stores it."""
    pairs = [(code, _cut(words, kind.longest_words)) for code, words in attribute.value_labels or ()]
    if pa.types.is_string(stored):
        return {code: words for code, words in pairs if kind is _SPSS}  # Stata labels whole numbers only
    if attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        return {}
    numbers = [(float(code), words) for code, words in pairs if is_number(code)]
    if pa.types.is_int32(stored):
        return {int(code): words for code, words in numbers}
    return {code: words for code, words in numbers if kind is _SPSS or code.is_integer()}


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


def _measure(attribute: Attribute) -> str:
    if attribute.type is AttributeType.ORDINAL:
        return "ordinal"
    return "nominal" if attribute.type.labelled else "scale"


def _missing(attribute: Attribute, *, as_text: bool) -> list[Any]:
    """SPSS has room for three codes, or for one range and one code; more than that is left out.

    A released cell never holds such a code: what is missing is the system's own gap.
    """
    marks = attribute.missing_marks
    if attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        return []
    if as_text:
        gap = [""] if attribute.gaps else []  # a text has no gap of the system's own
        texts = [*gap, *(mark for mark in marks if len(mark.encode()) <= 8)]
        return texts if len(texts) <= 3 else gap
    codes = sorted({float(mark) for mark in marks if is_number(mark)})
    ranges = ranges_of(marks)
    if not ranges and len(codes) <= 3:
        return codes
    if len(ranges) == 1 and len(codes) <= 1:
        return [_range(*ranges[0]), *codes]
    for alone in (None, *codes):
        ends = [*(code for code in codes if code != alone), *(end for pair in ranges for end in pair)]
        if not _overlaps(attribute, min(ends), max(ends)):
            return [_range(min(ends), max(ends)), *([] if alone is None else [alone])]
    return []


def _range(lower: float, upper: float) -> dict[str, float]:
    return {"lo": max(lower, -_LARGEST), "hi": min(upper, _LARGEST)}


def _overlaps(attribute: Attribute, lower: float, upper: float) -> bool:
    """Whether a value that is none of the missing ones lies between."""
    if attribute.domain is not None:
        return attribute.domain.lower <= upper and lower <= attribute.domain.upper
    labels: Iterable[str] = attribute.categories.labels or () if attribute.categories is not None else ()
    return any(lower <= float(label) <= upper for label in labels)
