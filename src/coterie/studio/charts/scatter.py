"""The risk–utility map: each release a mark, with its interval, its name beside it, and its promise in the legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from coterie.studio.charts.drawing import (
    COLOUR,
    LETTER,
    Figure,
    Scale,
    bottom,
    cut,
    left,
    line,
    mark,
    number,
    percent,
    picture,
    spread,
    table,
    text,
    text_width,
)

_WIDTH, _LEFT, _TOP, _BASE = 680.0, 56.0, 78.0, 358.0
_NAME = 190.0  # longest name beside a mark
# Lines up and down from a mark, and steps away from it: nearest first, columns beside the mark before those farther out.
_PLACES = sorted(
    ((step, away) for step in range(-19, 20) for away in range(4)), key=lambda p: (p[1], abs(p[0]), p[0])
)

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Point:
    """`loss` is better when smaller; risk is a share from 0 to 1 with its interval."""

    name: str
    status: str  # the words of coterie.methods.guarantee.Status
    loss: float
    risk: float
    low: float
    high: float
    promise: str = ""  # as the legend has it; empty: the status itself


def risk_utility(points: Sequence[Point], *, loss: str, caption: str) -> Figure:
    """Down and left is better. A star whose promise is not the plain word 'proved' is drawn hollow."""
    log = all(point.loss > 0 for point in points)
    across = spread([point.loss for point in points], _LEFT, _WIDTH - 20, log=log, zero=not log)
    up = Scale(0, 1.05, _BASE, _TOP)
    parts = left(
        up,
        _LEFT,
        "largest gain of any attack beyond its baseline, with its 95 % interval",
        [(share, percent(share)) for share in (0, 0.25, 0.5, 0.75, 1)],
        grid_to=_WIDTH - 20,
    )
    parts += bottom(across, _BASE, f"{loss}{', log scale' if log else ''}", across.ticks(), grid_to=_TOP)
    placed: list[Box] = [
        (x - 9, y - 9, x + 9, y + 9) for x, y in ((across.at(p.loss), up.at(p.risk)) for p in points)
    ]
    for point in points:
        x = across.at(point.loss)
        for end in (point.low, point.high):
            parts.append(line(x - 5, up.at(end), x + 5, up.at(end), f"l{COLOUR[point.status]}"))
        parts.append(line(x, up.at(point.low), x, up.at(point.high), f"l{COLOUR[point.status]}"))
    for point in points:
        x, y = across.at(point.loss), up.at(point.risk)
        parts.append(mark(point.status, x, y, hollow=bool(point.promise)))
        parts.append(_name(point.name, x, y, placed))
    parts += _legend(points)
    rows = [
        (
            p.name,
            p.promise or p.status,
            number(p.loss),
            percent(p.risk),
            f"{percent(p.low)} to {percent(p.high)}",
        )
        for p in points
    ]
    return Figure(
        picture(_WIDTH, _BASE + 44, "Risk and utility of each release", parts, wide=True),
        caption,
        ("release", "promise", loss, "largest gain of an attacker", "95 % interval"),
        table(rows),
    )


def _name(name: str, x: float, y: float, placed: list[Box]) -> Markup:
    """Beside the mark, or the nearest free place above or below it, or else farther out."""
    width = text_width(cut(name, _NAME))
    found = next(
        (place for place in _around(x, y, width) if not any(_overlap(place, o) for o in placed)), None
    )
    free = found or (x + 12, y - 7, x + 12 + width, y + 7)
    placed.append(free)
    return text(free[0], free[1] + 11, name, width=_NAME + LETTER)


def _around(x: float, y: float, width: float) -> Iterator[Box]:
    """Places inside the map for a name as wide as that, nearest first."""
    for step, away in _PLACES:
        for start in (x + 12 + 45 * away, x - 12 - width - 45 * away):
            place = (start, y - 7 + 15 * step, start + width, y + 7 + 15 * step)
            if start >= _LEFT and place[2] <= _WIDTH and place[1] >= _TOP - 8 and place[3] <= _BASE:
                yield place


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _legend(points: Sequence[Point]) -> list[Markup]:
    """One entry for each kind of promise, on as many lines as they need (two, for all that there are)."""
    parts, at, y = [text(2, 18, "Promise:", class_="title")], 70.0, 18.0
    for status, promise in dict.fromkeys((point.status, point.promise) for point in points):
        words = cut(promise or status, 300)
        if at + 24 + text_width(words) > _WIDTH:
            at, y = 70.0, y + 20
        parts.append(mark(status, at + 8, y - 4, hollow=bool(promise)))
        parts.append(text(at + 22, y, words))
        at += 40 + text_width(words)
    return parts
