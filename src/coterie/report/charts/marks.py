"""Marks with their intervals: one row for each name, or the risk–utility map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from coterie.report.charts.figure import WIDE, Drawing, Figure, Key, adaptive, shape_key, table
from coterie.report.charts.scale import Scale, bottom, left, percent, spread
from coterie.report.charts.svg import STATUS, Svg, box, cut, line, mark, text, text_width, together
from coterie.schema.exact import number

Look = tuple[str, int]  # shape and colour
PLAIN: Look = ("circle", 1)


@dataclass(frozen=True, slots=True)
class IntervalRow:
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
    rows: Sequence[IntervalRow],
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
    bars: bool = False,
) -> Figure:
    """`axis` says what is counted, with its unit; `mark_words` what the diamonds mean; `looks` what colours and shapes mean.

    `shares`: values from 0 to 1, shown as percentages on a full axis. `log`: positive values on a log axis.
    `bars`: from zero to each value, instead of a mark.
    """
    words: Callable[[float], str] = percent if shares else number
    whiskers = any(row.low is not None for row in rows)
    panel = adaptive(
        f"{axis}, one row for each of {len(rows)}",
        lambda width: _draw(rows, width, axis, words, shares=shares, log=log, bars=bars),
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
    rows: Sequence[IntervalRow],
    width: float,
    axis: str,
    words: Callable[[float], str],
    *,
    shares: bool,
    log: bool,
    bars: bool,
) -> Drawing:
    """Draw the rows. On a phone the name stands above its row instead of beside it."""
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
        if bars:
            ends = sorted((across.at(0), across.at(row.value)))
            parts.append(box(ends[0], y - 7, ends[1] - ends[0], 14, "q2"))
        if row.mark is not None:
            parts.append(mark("diamond", across.at(row.mark), y, 8, size=1.1, hollow=True))
        if row.low is not None and row.high is not None:
            parts += _whisker(across.at(row.low), across.at(row.high), y, row.look[1])
        if not bars:
            parts.append(mark(row.look[0], across.at(row.value), y, row.look[1], size=0.8))
        compared = f"\ncompared with {words(row.mark)}" if row.mark is not None else ""
        between = f" ({_between(row, words)})" if row.low is not None else ""
        tip = f"{row.name}\n{row.said or words(row.value)}{between}{compared}"
        parts.append(box(0, y - (26 if stacked else 15), width, height, "hit", tip))
    return Drawing(width, base + 42, together(parts))


def _said(row: IntervalRow, words: Callable[[float], str]) -> str:
    return f"{row.said or words(row.value)}{f'  {row.note}' if row.note else ''}"


def _whisker(low: float, high: float, y: float, colour: int) -> list[Svg]:
    ends = [line(end, y - 5, end, y + 5, f"whisker l{colour}") for end in (low, high)]
    return [line(low, y, high, y, f"whisker l{colour}"), *ends]


def _between(row: IntervalRow, words: Callable[[float], str]) -> str:
    return "–" if row.low is None or row.high is None else f"{words(row.low)} to {words(row.high)}"


def _scale(rows: Sequence[IntervalRow], start: float, end: float, *, shares: bool, log: bool) -> Scale:
    values = [v for row in rows for v in (row.value, row.low, row.high, row.mark) if v is not None]
    if shares and all(0 <= value <= 1 for value in values):
        return Scale(0.0, 1.0, start, end)
    return spread(values, start, end, log=log, zero=not log)


_START, _TOP = 50.0, 40.0
# Lines up and down from a mark, and steps away from it: nearest first, columns beside the mark before those farther out.
_PLACES = sorted(
    ((step, away) for step in range(-19, 20) for away in range(4)), key=lambda p: (p[1], abs(p[0]), p[0])
)

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class RiskPoint:
    """One release. `loss` is better when smaller; risk is a share from 0 to 1 with its interval."""

    name: str
    status: str  # what the method's promise is worth: the words of coterie.methods.guarantee.Status
    loss: float
    risk: float
    low: float
    high: float
    promise: str = ""  # as the legend has it, where that is not the status alone: a hollow mark


def risk_utility_map(points: Sequence[RiskPoint], *, loss: str, caption: str, title: str = "") -> Figure:
    """Down and left is better. A low point without a star was only not attacked successfully."""
    panel = adaptive("Risk and utility of each release", lambda width: _draw_map(points, width, loss))
    kinds = {point.promise or point.status: point for point in points}
    keys = [shape_key(words, *STATUS[one.status], hollow=bool(one.promise)) for words, one in kinds.items()]
    rows = table(
        (
            p.name,
            p.promise or p.status,
            number(p.loss),
            percent(p.risk),
            f"{percent(p.low)} to {percent(p.high)}",
        )
        for p in points
    )
    headings = ("release", "promise", loss, "largest gain of an attacker", "95 % interval")
    return Figure((panel,), caption, headings, rows, tuple(keys), title)


def _draw_map(points: Sequence[RiskPoint], width: float, loss: str) -> Drawing:
    base = _TOP + (300.0 if width == WIDE else 280.0)
    log = all(point.loss > 0 for point in points)
    across = spread([point.loss for point in points], _START, width - 18, log=log, zero=not log)
    up = Scale(0, 1.05, base, _TOP)
    risks = [(share, percent(share)) for share in (0, 0.25, 0.5, 0.75, 1)]
    wide = "largest gain of any attack beyond its baseline, with its 95 % interval"
    parts = left(
        up, _START, wide if width == WIDE else "largest gain of any attack", risks, grid_to=across.end
    )
    parts += bottom(across, base, f"{loss}{', log scale' if log else ''}", across.ticks())
    placed: list[Box] = [
        (x - 10, y - 10, x + 10, y + 10) for x, y in ((across.at(p.loss), up.at(p.risk)) for p in points)
    ]
    for point in points:
        x, colour = across.at(point.loss), STATUS[point.status][1]
        for end in (point.low, point.high):
            parts.append(line(x - 5, up.at(end), x + 5, up.at(end), f"whisker l{colour}"))
        parts.append(line(x, up.at(point.low), x, up.at(point.high), f"whisker l{colour}"))
    for point in points:
        x, y = across.at(point.loss), up.at(point.risk)
        said = (
            f"{point.name}\n{point.promise or point.status}\nloss {number(point.loss)}\n"
            f"gain {percent(point.risk)} ({percent(point.low)} to {percent(point.high)})"
        )
        parts.append(
            mark(
                STATUS[point.status][0], x, y, STATUS[point.status][1], hollow=bool(point.promise), words=said
            )
        )
        parts += _name(point.name, x, y, placed, (_START, width, base))
    return Drawing(width, base + 42, together(parts))


def _name(name: str, x: float, y: float, placed: list[Box], frame: tuple[float, float, float]) -> list[Svg]:
    """Put a name beside its mark, or at the nearest free place above or below. Without one, tooltip and table name it."""
    longest = (frame[1] - frame[0]) * 0.55
    width = text_width(cut(name, longest))
    for place in _around(x, y, width, frame):
        if not any(_overlap(place, other) for other in placed):
            placed.append(place)
            return [text(place[0], place[1] + 11, name, width=longest)]
    return []


def _around(x: float, y: float, width: float, frame: tuple[float, float, float]) -> Iterator[Box]:
    """Places inside the map for a name as wide as that, nearest first."""
    first, last, base = frame
    for step, away in _PLACES:
        for start in (x + 12 + 45 * away, x - 12 - width - 45 * away):
            place = (start, y - 7 + 15 * step, start + width, y + 7 + 15 * step)
            if start >= first and place[2] <= last and place[1] >= _TOP - 8 and place[3] <= base:
                yield place


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
