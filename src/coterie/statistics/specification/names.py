"""Names that identify: equal names mean equal things.

Numbers are written exactly (whole ones as such), and a text that could run into its surroundings is written in
quotes. So two different filters, groups or measurements never get the same name."""

from __future__ import annotations

import json
import re

_LABEL = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,]+)""")
_IN_LABELS = frozenset(',"[]\\')
_IN_FILTERS = _IN_LABELS | frozenset("()|=<≤≥²·−")


def number_text(value: float) -> str:
    """The shortest text that reads back as this very number."""
    if abs(value) < 1e16 and value == int(value):
        return str(int(value))
    return repr(value)


def label_text(value: str | float) -> str:
    """A group's label inside name[…]; labels of several columns are joined by commas."""
    return _quoted_if(value, _IN_LABELS) if isinstance(value, str) else number_text(value)


def split_labels(text: str) -> list[str]:
    """The labels inside name[…]: each in quotes, or as it stands up to the next comma."""
    parts = (part.strip() for part in _LABEL.findall(text))
    return [json.loads(part) if part.startswith('"') else part.strip("'") for part in parts]


def filter_text(value: str | float) -> str:
    """A column or a value inside a filter. The text "1" is not the number 1, so it is quoted."""
    if not isinstance(value, str):
        return number_text(value)
    return _quoted(value) if _reads_as_number(value) else _quoted_if(value, _IN_FILTERS)


def _quoted_if(text: str, special: frozenset[str]) -> str:
    plain = text.isprintable() and text == text.strip() != "" and special.isdisjoint(text)
    return text if plain and text[0] != "'" else _quoted(text)


def _quoted(text: str) -> str:
    """As JSON writes it; halves of a surrogate pair are escaped too, so that every name can be written."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
