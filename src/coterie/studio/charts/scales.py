"""From numbers to places on the page, with ticks at 1, 2 and 5 times a power of ten."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from coterie.studio.charts.svg import LINE, text_width

Ticks = list[tuple[float, str]]
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_GAP = 8  # between two tick labels


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` lie between the pixels `start` and `end`; those beyond are drawn at the edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, *, upright: bool = False, shown: Callable[[float], str] | None = None) -> Ticks:
        """As many as fit without touching. `upright`: an axis on whose left the labels stand one above the other."""
        for most in range(8, 1, -1):
            places = (
                log_ticks(self.low, self.high, most) if self.log else linear_ticks(self.low, self.high, most)
            )
            found = [(place, shown(place)) for place in places] if shown else labelled(places, log=self.log)
            if apart(self, found, upright=upright):
                return found
        return found[:1]


def spread(
    values: Sequence[float], start: float, end: float, *, log: bool = False, zero: bool = False
) -> Scale:
    """A scale that holds all values with a little room; `zero` makes it begin at 0."""
    known = [value for value in values if math.isfinite(value) and (not log or value > 0)]
    low, high = (min(known), max(known)) if known else (1.0, 10.0)
    if log:
        return Scale(low / 1.6, high * 1.6, start, end, log=True)
    if not zero:
        room = (high - low) * 0.06 or abs(high) * 0.5 or 1.0
        return Scale(low - room, high + room, start, end)
    low, high = min(low, 0.0), max(high, 0.0)
    room = (high - low) * 0.06 or 1.0
    return Scale(low - room if low < 0 else 0.0, high + room if high > 0 or low == 0 else 0.0, start, end)


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / most
    if not rough > 0 or not math.isfinite(rough):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    for step in (power, 2 * power, 5 * power, 10 * power, 20 * power):
        first = math.ceil(low / step - 1e-9)
        count = math.floor(high / step + 1e-9) - first + 1
        if count <= most:
            return [(first + place) * step for place in range(count)]
    return [low]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, with 2 and 5 between where there is room, or every other power where there is not."""
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    for steps in ((1, 2, 5), (1,)):
        found = [step * 10.0**power for power in range(first, last) for step in steps]
        inside = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if 2 <= len(inside) <= most:
            return inside
    powers = [
        power
        for power in range(first, last)
        if low <= 10.0**power * (1 + 1e-9) and 10.0**power <= high * (1 + 1e-9)
    ]
    every = max(1, math.ceil(len(powers) / most))
    return [10.0**power for power in powers if power % every == 0] or inside or [low]


def labelled(places: Sequence[float], *, log: bool) -> Ticks:
    """Tick labels that all have the decimals of the smallest step."""
    if log:
        return [(place, number(place)) for place in places]
    step = min((b - a for a, b in pairwise(places)), default=0.0)
    largest = max(abs(place) for place in places)
    if (largest >= 1e7 or 0 < largest < 1e-3) and largest <= 100 * step:  # three digits tell them apart
        return [(place, number(place)) for place in places]
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    return [(place, f"{place + 0.0:,.{digits}f}".replace("-", "−")) for place in places]


def apart(scale: Scale, ticks: Ticks, *, upright: bool) -> bool:
    """Whether no label touches the next."""
    ends = sorted((scale.at(place), LINE if upright else text_width(words) + _GAP) for place, words in ticks)
    return all(b[0] - a[0] >= (a[1] + b[1]) / 2 for a, b in pairwise(ends))


def number(value: float) -> str:
    """Three or four digits that matter: 1,234, 0.0123, 10⁶, 4.2·10⁻⁵."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)) + 1e-12)
    if -4 <= power < 7:
        digits = max(0, 2 - power)
        shown = f"{value:,.{digits}f}"
        shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    else:
        factor = f"{value / 10.0**power:.2f}".rstrip("0").rstrip(".")
        ten = f"10{str(power).translate(_SUPERSCRIPT)}"
        shown = ten if factor == "1" else f"−{ten}" if factor == "-1" else f"{factor}·{ten}"
    return shown.replace("-", "−")


def percent(value: float) -> str:
    return f"{number(round(100 * value, 6))} %"


def date_words(day: float) -> str:
    return f"{date(1970, 1, 1) + timedelta(days=round(day)):%Y-%m-%d}"


def date_ticks(scale: Scale) -> Ticks:
    """Days since 1970: first days of years (1, 2, 5, 10 … apart) or of months; single days where the range is short."""
    first, last = (date(1970, 1, 1) + timedelta(days=round(edge)) for edge in (scale.low, scale.high))
    for months in (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400):
        start = (first.year * 12 + first.month - 1) // months * months
        found: Ticks = []
        for month in range(start, last.year * 12 + last.month, months):
            day = date(max(month // 12, 1), month % 12 + 1, 1)
            if first <= day <= last:
                found.append(
                    (float((day - date(1970, 1, 1)).days), f"{day:%Y}" if months >= 12 else f"{day:%Y-%m}")
                )
        if len(found) <= 1:
            break
        if apart(scale, found, upright=False):
            return found
    days = scale.ticks(shown=date_words)
    return [(place, words) for place, words in days if place == round(place)] or days
