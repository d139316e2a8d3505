"""From numbers to places on a page: scales, axes, ticks at 1, 2 and 5 times a power of ten, numbers as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from coterie.report.charts.svg import LINE, Svg, line, text, text_width
from coterie.schema.exact import WORDS_OF_SIZE, number

Ticks = list[tuple[float, str]]
_GAP = 10.0  # pixels between two tick labels
_START = date(1970, 1, 1)


def percent(share: float) -> str:
    return f"{number(round(100 * share, 6))} %"


def date_words(day: float) -> str:
    """A day counted from 1970, also one before the year 1 or after 9999."""
    try:
        return f"{_START + timedelta(days=round(day)):%Y-%m-%d}"
    except OverflowError:
        return number(day)


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

    def ticks(self, *, upright: bool = False, words: Callable[[float], str] | None = None) -> Ticks:
        """As many ticks as fit without touching. `upright`: an axis on whose left the labels stand one above the other."""
        places_of = log_ticks if self.log else linear_ticks
        for most in range(7, 1, -1):
            places = places_of(self.low, self.high, most)
            found = [(place, words(place)) for place in places] if words else _labelled(places, log=self.log)
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
        room = max((high / low) ** 0.05, 1.12) if high < 30 * low else 1.5
        return Scale(low / room, high * room, start, end, log=True)
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


def _labelled(places: Sequence[float], *, log: bool) -> Ticks:
    """Tick labels in one unit, with the decimals of the smallest step."""
    if log:
        return [(place, number(place)) for place in places]
    step = min((b - a for a, b in pairwise(places)), default=0.0)
    largest = max(abs(place) for place in places)
    if largest >= 1e15 or 0 < largest < 1e-3:
        return [(place, number(place)) for place in places]
    unit, word = next((entry for entry in WORDS_OF_SIZE if largest >= entry[0]), (1.0, ""))
    digits = min(max(0, -math.floor(math.log10(step / unit) + 1e-9)), 12) if step > 0 else 0
    if word and digits > 3:  # far from zero and close together: only the whole number tells them apart
        unit, word, digits = 1.0, "", max(0, -math.floor(math.log10(step) + 1e-9))
    shown = [f"{place / unit + 0.0:,.{digits}f}".replace("-", "−") for place in places]
    if word:
        shown = [f"{words} {word}" if place else "0" for place, words in zip(places, shown, strict=True)]
    return list(zip(places, shown, strict=True))


def apart(scale: Scale, ticks: Ticks, *, upright: bool = False) -> bool:
    """Whether no label touches the next."""
    ends = sorted((scale.at(place), LINE if upright else text_width(words) + _GAP) for place, words in ticks)
    return all(b[0] - a[0] >= (a[1] + b[1]) / 2 for a, b in pairwise(ends))


def chosen_ticks(scale: Scale, values: Sequence[float]) -> Ticks:
    """The values that were run, without those whose number would touch a neighbour's; both ends stay."""
    kept: Ticks = []
    last = (values[-1], number(values[-1]))
    for value in values[:-1]:
        tick = (value, number(value))
        if apart(scale, [*kept[-1:], tick, last]):
            kept.append(tick)
    return [*kept, last]


def date_ticks(scale: Scale) -> Ticks:
    """Days since 1970: first days of years (1, 2, 5, 10 … apart) or of months; single days where the range is short."""
    try:
        first, last = (_START + timedelta(days=round(edge)) for edge in (scale.low, scale.high))
    except OverflowError:
        return scale.ticks()
    for months in (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400):
        start = (first.year * 12 + first.month - 1) // months * months
        found: Ticks = []
        for month in range(start, last.year * 12 + last.month, months):
            day = date(max(month // 12, 1), month % 12 + 1, 1)
            if first <= day <= last:
                found.append((float((day - _START).days), f"{day:%Y}" if months >= 12 else f"{day:%Y-%m}"))
        if len(found) <= 1:
            break
        if apart(scale, found):
            return found
    days = scale.ticks(words=date_words)
    return [(place, words) for place, words in days if place == round(place)] or days


# The two axes of a figure: a line, ticks, and what they count.


def bottom(scale: Scale, y: float, title: str, ticks: Ticks, *, grid_to: float | None = None) -> list[Svg]:
    """Numbers below the line at `y`, the title below them."""
    parts = [] if grid_to is None else [line(scale.at(v), grid_to, scale.at(v), y, "grid") for v, _ in ticks]
    parts.append(line(scale.start, y, scale.end, y, "axis"))
    for value, words in ticks:
        parts.append(line(scale.at(value), y, scale.at(value), y + 4, "axis"))
        half = text_width(words) / 2  # at the ends, numbers stay in the picture
        middle = max(min(scale.at(value), scale.end + 18 - half), half + 2)
        parts.append(text(middle, y + 17, words, anchor="middle", class_="tick"))
    if title:
        width = scale.end - scale.start + 40
        parts.append(text(scale.end, y + 35, title, anchor="end", width=width, class_="title"))
    return parts


def left(scale: Scale, x: float, title: str, ticks: Ticks, *, grid_to: float) -> list[Svg]:
    """Numbers on the left of the line at `x`; the title stands above it, so that nobody turns their head."""
    parts = [line(x, scale.at(value), grid_to, scale.at(value), "grid") for value, _ in ticks]
    parts += [text(x - 7, scale.at(value) + 4, words, anchor="end", class_="tick") for value, words in ticks]
    if text_width(title) > grid_to - 2:  # what is in parentheses is said by the table, too
        title = re.sub(r" \([^)]*\)", "", title)
    parts.append(text(2, min(scale.start, scale.end) - 12, title, width=grid_to - 2, class_="title"))
    return parts


def room_for(ticks: Ticks) -> float:
    """How much the numbers on the left of an axis take."""
    return max((text_width(words) for _, words in ticks), default=0.0) + 14
