"""Sliders over a logarithm, in hundredths of log10. The text field beside each is what counts."""

from __future__ import annotations

import math

EPSILON = (-200, 100)  # 0.01 to 10


def place(number: str) -> int:
    """Where the slider stands for a number as typed; a browser keeps it within its ends."""
    try:
        return round(100 * math.log10(float(number)))
    except (ValueError, OverflowError):
        return 0


def end(most: int) -> int:
    return math.ceil(100 * math.log10(most))
