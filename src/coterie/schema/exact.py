"""ε as an exact number: read from text, split over attributes, and summing to the whole again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeAlias

from coterie.errors import ParameterError

Number: TypeAlias = str | int | float | Decimal | Fraction

WORDS_OF_SIZE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Doubles carry these; a p/q or an integer of 400 digits would become 0 or infinity on the way to the noise.
_PLAIN = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?|[0-9]+/[0-9]+")
_LONGEST = 1_000  # characters: a text of a million digits would take hours
_SMALLEST, _LARGEST = Fraction(1, 10**300), Fraction(10**300)


def parse_epsilon(epsilon: Number, name: str = "epsilon") -> Fraction:
    """The exact value of a decimal text such as "0.1", or of p/q; positive and finite."""
    advice = f"Write {name} as a positive decimal such as 0.5 (text keeps it exact)."
    if isinstance(epsilon, bool):
        raise ParameterError(f"{name} is not a number.", advice)
    try:
        # str() of a float is its shortest decimal text: 0.1 means one tenth, not its binary neighbour.
        value = Fraction(epsilon) if isinstance(epsilon, int | Fraction) else _fraction(str(epsilon).strip())
    except (ValueError, ZeroDivisionError, OverflowError, InvalidOperation):
        raise ParameterError(f"{name} is not a finite number.", advice) from None
    if value <= 0:
        raise ParameterError(f"{name} must be greater than 0.", advice)
    if not _SMALLEST <= value <= _LARGEST:
        raise ParameterError(f"{name} is beyond all use: it must lie between 1e-300 and 1e300.", advice)
    return value


def _fraction(text: str) -> Fraction:
    # Python would also read 1_0 as ten and digits of every script: too easily a slip, or a trick.
    if len(text) > _LONGEST or not _PLAIN.fullmatch(text):
        raise ValueError
    if "/" in text:
        return Fraction(text)
    value = Decimal(text)
    if value != 0 and abs(value.adjusted()) > 400:
        # Fraction(Decimal("1e999999999")) would try to build that integer; the sign and the size are enough.
        value = Decimal(f"{'-' if value < 0 else ''}1e{400 if value.adjusted() > 0 else -400}")
    return Fraction(value)


def split(epsilon: Fraction, weights: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Shares of ε in proportion to the weights (Soria-Comas et al., Alg. 1: ε = Σ ε_a). The sum is exactly ε."""
    total = sum(weights.values(), Fraction(0))
    if total <= 0:
        raise ParameterError(
            "No attribute has a budget share.", "Give at least one protected attribute a weight above 0."
        )
    unit = epsilon / total
    return {name: unit * weight for name, weight in weights.items()}


def as_text(value: Fraction) -> str:
    """Exact text: a decimal where one exists, otherwise p/q."""
    twos_and_fives = value.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives != 1 or value.denominator > 10**40:
        return f"{value.numerator}/{value.denominator}"
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    scaled = value * 10**digits
    text = str(abs(scaled.numerator)).rjust(digits + 1, "0")
    body = f"{text[:-digits]}.{text[-digits:]}" if digits else text
    return f"-{body}" if value < 0 else body


def float_up(value: Fraction) -> float:
    """The smallest double that is not below an exact value: noise may be rounded up, never down."""
    return quotient_up(*value.as_integer_ratio())


def quotient_up(numerator: int, denominator: int) -> float:
    """The same for a quotient of whole numbers, which need not be in lowest terms: fractions are slow."""
    nearest = numerator / denominator  # the double nearest to the exact quotient
    over, under = nearest.as_integer_ratio()
    return nearest if over * denominator >= numerator * under else math.nextafter(nearest, math.inf)


def number(value: float | Fraction | None, digits: int = 3) -> str:
    """Write a number as people do: 1,219, 0.0123, 20 million, with so many digits that matter; – for none. Never 1.2e+03."""
    value = math.nan if value is None else float(value) + 0.0  # no −0
    if not math.isfinite(value):
        return "–"
    size = abs(value) * (1 + 0.5 * 10.0**-digits)  # which may be rounded up to the next word
    if value == 0 or (abs(value) >= 1e-6 and size < 1e6):
        shown = _rounded(value, digits)
    elif abs(value) < 1e-6 or size >= 1e15:
        power = math.floor(math.log10(abs(value)) + 1e-12)
        shown = f"{_rounded(value / 10.0**power, digits)} × 10{str(power).translate(_SUPERSCRIPT)}"
    else:
        unit, word = next(entry for entry in WORDS_OF_SIZE if size >= entry[0])
        shown = f"{_rounded(value / unit, digits)} {word}"
    return shown.replace("-", "−")


def _rounded(value: float, digits: int) -> str:
    power = math.floor(math.log10(abs(value)) + 1e-12) if value else 0
    shown = f"{value:,.{max(0, digits - 1 - power)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def readable(value: Fraction) -> str:
    """Exact; a fraction without a decimal text also gets its rough size."""
    text = as_text(value)
    return f"{text} (≈ {number(value, 4)})" if "/" in text else text


def number_text(value: float) -> str:
    """The shortest text that reads back as this very number: for what is typed again."""
    if abs(value) < 1e16 and value == int(value):
        return str(int(value))
    return repr(value)


def brief(value: Fraction) -> str:
    """Exact where that is short, else four digits: for tables."""
    text = as_text(value)
    return text if len(text) <= 7 and "/" not in text else f"{float(value):.4g}".replace("e-0", "e-")
