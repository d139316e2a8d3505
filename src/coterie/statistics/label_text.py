"""A cell as the text of its label: the whole number 1 is label `1`, whether it is stored as 1, 1.0, 1.00 or text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from coterie.columns.numbers import is_text, without_marks
from coterie.schema import Attribute

# 1.0 and 1.00 are 1, 0.50 is 0.5; 01 is no number here but a code with its zero.
_TRAILING = r"^(-?(?:0|[1-9][0-9]*)\.[0-9]*?)0+$"
_POINT = r"^(-?(?:0|[1-9][0-9]*))\.$"


def canonical(text: str) -> str:
    """Of a text as written in a filter or found in a cell."""
    plain = re.sub(_POINT, r"\1", re.sub(_TRAILING, r"\1", text.strip()))
    return "0" if plain == "-0" else plain


def label_text(column: pa.ChunkedArray, attribute: Attribute, labels: Sequence[str]) -> pa.ChunkedArray:
    """Texts, with nulls for missing cells; a text that is a declared label stays as it is."""
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return column  # the reader of labels says what is wrong with it
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    text = without_marks(column, attribute)
    if not (is_text(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return text
    plain = pc.replace_substring_regex(text, _TRAILING, r"\1")
    plain = pc.replace_substring_regex(plain, _POINT, r"\1")
    plain = pc.if_else(pc.equal(plain, "-0"), pa.scalar("0", plain.type), plain)
    return pc.if_else(pc.is_in(text, pa.array(labels, text.type)), text, plain)
