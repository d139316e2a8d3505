"""Dots with whiskers, one row for each name, and a diamond for what each is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coterie.report.charts.figure import WIDE, Drawing, Figure, Key, adaptive, shape_key, table
from coterie.report.charts.scale import Scale, number, percent, spread
from coterie.report.charts.svg import Svg, bottom, box, line, mark, text, text_width, together

Look = tuple[str, int]  # shape and colour
PLAIN: Look = ("circle", 1)


@dataclass(frozen=True, slots=True)
class Interval:
    """`low` and `high` are the interval, `mark` a value to compare with; each may be absent."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    mark: float | None = None
    look: Look = PLAIN
    note: str = ""  # a few words behind the value
    said: str = ""  # the value, where it is written otherwise than on the axis


def intervals(
    rows: Sequence[Interval],
    *,
    axis: str,
    caption: str,
    mark_words: str = "",
    looks: Sequence[tuple[str, Look]] = (),
    shares: bool = False,
    log: bool = False,
    first: str = "",
    interval: str = "95 % interval",
    title: str = "",
) -> Figure:
    """`axis` says what is counted, with its unit; `mark_words` what the diamonds mean; `looks` what colours and shapes mean.

    `shares`: values from 0 to 1, shown as percentages on a full axis. `log`: positive values on a log axis.
    """
    words: Callable[[float], str] = percent if shares else number
    whiskers = any(row.low is not None for row in rows)
    panel = adaptive(
        f"{axis}, one row for each of {len(rows)}",
        lambda width: _draw(rows, width, axis, words, shares=shares, log=log),
    )
    keys = [shape_key(said, *look) for said, look in looks or [(axis, PLAIN)]]
    if whiskers:
        keys.append(Key(interval, together(_whisker(1, 25, 7, 1))))
    if mark_words:
        keys.append(Key(mark_words, mark("diamond", 13, 7, 8, size=0.75, hollow=True)))
    told = [
        (
            row.name,
            f"{row.said or words(row.value)}{f' ({row.note})' if row.note else ''}",
            *([_between(row, words)] if whiskers else []),
            *(["–" if row.mark is None else words(row.mark)] if mark_words else []),
        )
        for row in rows
    ]
    headings = (first, axis, *([interval] if whiskers else []), *([mark_words] if mark_words else []))
    return Figure((panel,), caption, headings, table(told), tuple(keys), title)


def _draw(
    rows: Sequence[Interval],
    width: float,
    axis: str,
    words: Callable[[float], str],
    *,
    shares: bool,
    log: bool,
) -> Drawing:
    """On a phone the name stands above its row instead of beside it."""
    stacked = width < WIDE
    room = 8.0 if stacked else min(300.0, max((text_width(row.name) for row in rows), default=0.0)) + 14
    values = [_said(row, words) for row in rows]
    right = min(290.0, max((text_width(said) for said in values), default=0.0)) + 16
    height = 44.0 if stacked else 30.0
    base = 8.0 + height * len(rows)
    across = _scale(rows, room, width - (20.0 if stacked else right), shares=shares, log=log)
    ticks = across.ticks(words=words if shares else None)
    parts = bottom(across, base, f"{axis}{', log scale' if log else ''}", ticks, grid_to=8.0)
    for place, (row, said) in enumerate(zip(rows, values, strict=True)):
        y = 8.0 + place * height + (30.0 if stacked else height / 2)
        if stacked:
            parts.append(text(2, y - 14, row.name, width=max(width - text_width(said) - 14, 100.0)))
            parts.append(text(width - 2, y - 14, said, anchor="end", width=width - 110, class_="value"))
        else:
            parts.append(text(room - 10, y + 4, row.name, anchor="end", width=room - 10))
            parts.append(text(width - 2, y + 4, said, anchor="end", width=right - 8, class_="value"))
        parts.append(line(across.start, y, across.end, y, "track"))
        if row.mark is not None:
            parts.append(mark("diamond", across.at(row.mark), y, 8, size=1.1, hollow=True))
        if row.low is not None and row.high is not None:
            parts += _whisker(across.at(row.low), across.at(row.high), y, row.look[1])
        parts.append(mark(row.look[0], across.at(row.value), y, row.look[1], size=0.8))
        compared = f"\ncompared with {words(row.mark)}" if row.mark is not None else ""
        between = f" ({_between(row, words)})" if row.low is not None else ""
        tip = f"{row.name}\n{row.said or words(row.value)}{between}{compared}"
        parts.append(box(0, y - (26 if stacked else 15), width, height, "hit", tip))
    return Drawing(width, base + 42, together(parts))


def _said(row: Interval, words: Callable[[float], str]) -> str:
    return f"{row.said or words(row.value)}{f'  {row.note}' if row.note else ''}"


def _whisker(low: float, high: float, y: float, colour: int) -> list[Svg]:
    ends = [line(end, y - 5, end, y + 5, f"whisker l{colour}") for end in (low, high)]
    return [line(low, y, high, y, f"whisker l{colour}"), *ends]


def _between(row: Interval, words: Callable[[float], str]) -> str:
    return "–" if row.low is None or row.high is None else f"{words(row.low)} to {words(row.high)}"


def _scale(rows: Sequence[Interval], start: float, end: float, *, shares: bool, log: bool) -> Scale:
    values = [v for row in rows for v in (row.value, row.low, row.high, row.mark) if v is not None]
    if shares and all(0 <= value <= 1 for value in values):
        return Scale(0.0, 1.0, start, end)
    return spread(values, start, end, log=log, zero=not log)
