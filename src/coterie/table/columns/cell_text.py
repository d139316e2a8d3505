"""One cell as text: how a number, a date or a truth value would stand in a CSV file."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

EXACT = 2**53  # integers beyond it are not exact as doubles
# A number as labels may be written: 1.0 and 1.00 are 1, and 0.50 is 0.5; 01 is no number here but a code with its zero.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?")
_LONGEST = 400  # digits: no double has more before or after its point


def text_of(value: Any) -> str | None:
    """One cell as it would stand in a CSV file; None for a missing one. ValueError where it has no text."""
    if value is None or type(value).__name__ == "NAType":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else value.astype("datetime64[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float | Decimal | dt.datetime) and value != value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value.bit_length() > 4 * _LONGEST:
            raise ValueError("beyond the range of numbers")
        return str(value)
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) <= EXACT
        return str(int(value)) if whole else canonical_number(repr(value))
    if isinstance(value, Decimal):
        small = value.is_finite() and abs(value.adjusted()) < _LONGEST
        return canonical_number(format(value, "f")) if small else str(value)
    if isinstance(value, dt.datetime):
        if value.tzinfo is None and value.time() == dt.time():
            return value.date().isoformat()
        return dt.datetime.isoformat(value, sep=" ")  # pandas' own has nanoseconds
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise ValueError("neither number, text, date nor truth value")


def canonical_number(text: str) -> str:
    """The shortest way to write the same plain number; any other text as it stands."""
    if not _PLAIN_NUMBER.fullmatch(text):
        return text
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
