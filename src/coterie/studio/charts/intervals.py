"""Horizontal bars with intervals, and a mark for what each is held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coterie.studio.charts.drawing import (
    Figure,
    Scale,
    bottom,
    box,
    line,
    number,
    path,
    percent,
    picture,
    spread,
    table,
    text,
    text_width,
)

_WIDTH, _ROW = 680.0, 30.0


@dataclass(frozen=True, slots=True)
class Bar:
    """`low` and `high` are the interval, `mark` a value to compare with; each may be absent."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    mark: float | None = None
    series: int = 1  # colour 1 to 7


def interval_bars(
    bars: Sequence[Bar],
    *,
    axis: str,
    caption: str,
    mark: str = "",
    shares: bool = False,
    log: bool = False,
    first: str = "",
) -> Figure:
    """`axis` says what the bars count, with its unit; `mark` what the marks mean (for the legend); `first` heads the names.

    `shares`: values from 0 to 1, shown as percentages on a full axis. `log`: positive values on a log axis.
    """
    room = min(230.0, max((text_width(bar.name) for bar in bars), default=0.0)) + 12
    top = 30.0 if mark else 10.0
    base = top + _ROW * len(bars)
    across = _scale(bars, room, shares=shares, log=log)
    words: Callable[[float], str] = percent if shares else number
    ticks = across.ticks(shown=percent) if shares else across.ticks()
    parts = bottom(across, base, f"{axis}{', log scale' if log else ''}", ticks, grid_to=top)
    origin = across.low if log else 0.0
    for place, bar in enumerate(bars):
        y = top + place * _ROW + _ROW / 2
        parts.append(text(room - 8, y + 4, bar.name, anchor="end", width=room - 10))
        begin, end = sorted((across.at(origin), across.at(bar.value)))
        parts.append(
            box(begin, y - 8, end - begin, 16, f"s{bar.series} bar", f"{bar.name}: {words(bar.value)}")
        )
        if bar.low is not None and bar.high is not None:
            low, high = across.at(bar.low), across.at(bar.high)
            parts += [line(low, y, high, y, "whisker"), line(low, y - 5, low, y + 5, "whisker")]
            parts.append(line(high, y - 5, high, y + 5, "whisker"))
        if bar.mark is not None:
            at = across.at(bar.mark)
            parts.append(path([(at, y - 12), (at + 5, y), (at, y + 12), (at - 5, y)], "mark", closed=True))
    if mark:
        parts += [path([(room + 6, 2), (room + 11, 12), (room + 6, 22), (room + 1, 12)], "mark", closed=True)]
        parts.append(text(room + 18, 16, mark, width=_WIDTH - room - 20))
    interval = any(bar.low is not None for bar in bars)
    rows = [
        (
            bar.name,
            words(bar.value),
            *([_between(bar, words)] if interval else []),
            *(["–" if bar.mark is None else words(bar.mark)] if mark else []),
        )
        for bar in bars
    ]
    headings = (first, axis, *(["interval"] if interval else []), *([mark] if mark else []))
    return Figure(
        picture(_WIDTH, base + 44, f"Bars: {axis}", parts, wide=True), caption, headings, table(rows)
    )


def _between(bar: Bar, words: Callable[[float], str]) -> str:
    return "–" if bar.low is None or bar.high is None else f"{words(bar.low)} to {words(bar.high)}"


def _scale(bars: Sequence[Bar], room: float, *, shares: bool, log: bool) -> Scale:
    values = [v for bar in bars for v in (bar.value, bar.low, bar.high, bar.mark) if v is not None]
    if shares and all(0 <= value <= 1 for value in values):
        return Scale(0.0, 1.0, room, _WIDTH - 28)
    return spread(values, room, _WIDTH - 28, log=log, zero=not log)
