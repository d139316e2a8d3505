"""The few shapes that all figures are made of. Colours come from the style sheet's classes, so both themes work."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from markupsafe import Markup, escape

LETTER = 6.8  # mean width of a letter at the style sheet's 12 px
_WIDE = "mwMW@%—…"  # about half as wide again: a short label of them would leave its frame
LINE = 16


def tag(name: str, content: Markup | str = "", **attributes: str | float | None) -> Markup:
    """One element. `class_` and `stroke_width` are written as class and stroke-width."""
    written = "".join(
        f' {key if key == "viewBox" else key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{escape(content)}</{name}>" if content else f"<{name}{written}/>")


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def text_width(words: str) -> float:
    """A safe estimate: East Asian letters are twice as wide, capitals a quarter wider."""
    return LETTER * sum(_letters(letter) for letter in words)


def _letters(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2.0
    return 1.7 if letter in _WIDE else 1.25 if letter.isupper() else 1.0


def cut(words: str, width: float) -> str:
    """The words, or as many letters as fit with a sign that some are missing."""
    if text_width(words) <= width + 0.5:
        return words
    kept = words
    while kept and text_width(f"{kept}…") > width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    width: float | None = None,
    class_: str | None = None,
    transform: str | None = None,
) -> Markup:
    """Words at a place. Cut to `width`, they tell the whole in a tooltip."""
    shown = words if width is None else cut(words, width)
    content = escape(shown) if shown == words else escape(shown) + tag("title", escape(words))
    return tag("text", content, x=x, y=y, text_anchor=anchor, class_=class_, transform=transform)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, words: str = "") -> Markup:
    """A rectangle; `words` are shown when the mouse rests on it."""
    told = tag("title", escape(words)) if words else ""
    return tag("rect", told, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=class_)


def path(places: Iterable[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    drawn = "L".join(f"{_plain(x)} {_plain(y)}" for x, y in places)
    return tag("path", d=f"M{drawn}{'Z' if closed else ''}", class_=class_)


def picture(
    width: float, height: float, label: str, parts: Iterable[Markup], *, wide: bool = False, own: bool = False
) -> Markup:
    """The whole figure. A wide one keeps its size on a phone and scrolls; `own`: never drawn larger than it is."""
    drawn = tag(
        "svg",
        Markup("").join(parts),
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
        class_="wide" if wide else "own" if own else "small",
    )
    attributes = (
        {"class_": "scroll", "tabindex": "0", "role": "group", "aria_label": label}
        if wide
        else {"class_": "fit"}
    )
    return tag("div", drawn, **attributes)


# From numbers to places on the page, with ticks at 1, 2 and 5 times a power of ten.

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


# A drawn figure, and the numbers that it shows.


@dataclass(frozen=True, slots=True)
class Figure:
    """What `m.drawn` of the templates takes. Every cell is text, as a reader should see it."""

    svg: Markup
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table(rows: Sequence[Sequence[object]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(str(cell) for cell in row) for row in rows)


# One mark and one colour for each status of a promise: told apart by shape alone.

COLOUR = {"proved": 3, "bounded": 6, "conditional": 5, "heuristic": 4, "refuted": 2, "none": 7}


def mark(status: str, x: float, y: float, *, hollow: bool = False) -> Markup:
    """proved a star, bounded a square, conditional a triangle, heuristic a diamond, refuted a cross, none a circle."""
    class_ = f"l{COLOUR[status]}" if hollow else f"s{COLOUR[status]}"
    if status == "proved":
        corners = []
        for turn in range(10):
            reach = 9.0 if turn % 2 == 0 else 3.8
            angle = math.pi * (turn / 5 - 0.5)
            corners.append((x + reach * math.cos(angle), y + reach * math.sin(angle)))
        return path(corners, class_, closed=True)
    if status == "bounded":
        return path([(x - 6, y - 6), (x + 6, y - 6), (x + 6, y + 6), (x - 6, y + 6)], class_, closed=True)
    if status == "conditional":
        return path([(x, y - 7), (x + 7, y + 6), (x - 7, y + 6)], class_, closed=True)
    if status == "heuristic":
        return path([(x, y - 8), (x + 7, y), (x, y + 8), (x - 7, y)], class_, closed=True)
    if status == "refuted":
        cross = (
            (-7, -4),
            (-4, -7),
            (0, -3),
            (4, -7),
            (7, -4),
            (3, 0),
            (7, 4),
            (4, 7),
            (0, 3),
            (-4, 7),
            (-7, 4),
            (-3, 0),
        )
        return path([(x + a, y + b) for a, b in cross], class_, closed=True)
    return tag("circle", cx=x, cy=y, r=6.0, class_=class_)


# The two axes of a figure: a line, ticks, and what they count.


def bottom(scale: Scale, y: float, title: str, ticks: Ticks, *, grid_to: float | None = None) -> list[Markup]:
    """Numbers below the line at `y`, the title below them."""
    parts = [] if grid_to is None else [line(scale.at(v), grid_to, scale.at(v), y, "grid") for v, _ in ticks]
    parts.append(line(scale.start, y, scale.end, y, "axis"))
    for value, words in ticks:
        parts.append(line(scale.at(value), y, scale.at(value), y + 4, "axis"))
        parts.append(text(scale.at(value), y + 17, words, anchor="middle"))
    middle = (scale.start + scale.end) / 2
    parts.append(
        text(middle, y + 35, title, anchor="middle", width=scale.end - scale.start + 40, class_="title")
    )
    return parts


def left(scale: Scale, x: float, title: str, ticks: Ticks, *, grid_to: float) -> list[Markup]:
    """Numbers on the left of the line at `x`; the title stands above it, so that nobody turns their head."""
    parts = [line(x, scale.at(value), grid_to, scale.at(value), "grid") for value, _ in ticks]
    parts.append(line(x, scale.start, x, scale.end, "axis"))
    parts += [text(x - 6, scale.at(value) + 4, words, anchor="end") for value, words in ticks]
    parts.append(text(2, min(scale.start, scale.end) - 10, title, width=grid_to, class_="title"))
    return parts
