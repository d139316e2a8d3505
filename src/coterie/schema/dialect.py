"""How a text file (CSV, TSV) writes its cells: declared in the schema, or these defaults; never guessed when releasing."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, model_validator

from coterie.schema.domain import Frozen

DELIMITERS = (",", ";", "\t", "|")
_SPELLED = {"tab": "\t", "\\t": "\t"}
# Codes with shifts or escapes: what letters mean depends on those before.
_SHIFTING = (
    "iso2022",
    "hz",
    "utf-7",
    "unicode",
    "raw-unicode",
    "raw_unicode",
    "punycode",
    "idna",
    "undefined",
)
_PARTS = {"%d": r"([0-9]{1,2})", "%m": r"([0-9]{1,2})", "%Y": r"([0-9]{4})"}


def _mark(text: str) -> str:
    text = _SPELLED.get(text, text)
    if len(text) != 1 or not text.isascii() or text.isalnum() or text in "\r\n\0.+-":
        raise ValueError(
            "this must be one ASCII character such as ; or tab, and no letter, digit, point or sign"
        )
    return text


def _encoding(text: str) -> str:
    try:
        name = codecs.lookup(text).name
        with suppress(UnicodeError):
            b"a".decode(name)  # hex and zip are no encodings of text
    except LookupError:
        raise ValueError("there is no such encoding; write utf-8, latin-1, cp1252 or another") from None
    if name.startswith(_SHIFTING):
        raise ValueError(
            "in this encoding one cell can change how the cells after it are read; save the file as utf-8"
        )
    return name


def _date_format(text: str) -> str:
    found = re.findall(r"%.", text)
    if sorted(found) != ["%Y", "%d", "%m"] or re.sub(r"%[dmY]", "", text).strip("./- "):
        raise ValueError("a date format has %d, %m and %Y once each, between them . / - or a space: %d.%m.%Y")
    return text


class Dialect(Frozen):
    """The grammar of a text file. `source: data` marks what `coterie schema draft` guessed from the rows."""

    # None: the one of , ; tab | that splits the header line into the most names, which are public
    delimiter: Annotated[str, AfterValidator(_mark)] | None = None
    # only around a whole cell, doubled inside one; null: the file quotes nothing
    quote: Annotated[str, AfterValidator(_mark)] | None = '"'
    escape: Annotated[str, AfterValidator(_mark)] | None = None
    decimal: Literal[".", ","] = "."
    # between groups of three digits: 1,000 or 1.000; a grouping that is not one is no number
    thousands: Literal[",", ".", " ", "'", "\u00a0", "\u202f"] | None = None
    encoding: Annotated[str, AfterValidator(_encoding)] = "utf-8"
    date_format: Annotated[str, AfterValidator(_date_format)] | None = None  # besides 2026-01-31
    source: Literal["declared", "data"] = "declared"

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        marks = [mark for mark in (self.delimiter, self.quote, self.escape) if mark is not None]
        if len(set(marks)) < len(marks):
            raise ValueError("delimiter, quote and escape must be three different characters")
        if self.delimiter == self.decimal:
            raise ValueError("the decimal mark and the delimiter are the same character")
        if self.thousands == self.decimal:
            raise ValueError("the decimal mark and the mark of thousands are the same character")
        return self

    def grouped_pattern(self) -> str:
        """A regular expression for a number whose thousands are marked as declared."""
        mark = re.escape(self.thousands or "")
        return f"^[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({re.escape(self.decimal)}[0-9]*)?$"

    def iso_pattern(self) -> tuple[str, str] | None:
        """A regular expression for a cell that begins with a date in the file's own format, and that cell as ISO text."""
        if self.date_format is None:
            return None
        order = re.findall(r"%.", self.date_format)
        pattern = re.escape(self.date_format)
        for part, group in _PARTS.items():
            pattern = pattern.replace(part, group)
        place = {part: order.index(part) + 1 for part in order}
        return f"^{pattern}([ T].*)?$", rf"\{place['%Y']}-\{place['%m']}-\{place['%d']}\4"
