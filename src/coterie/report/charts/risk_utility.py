"""The risk–utility map: each release a mark with its interval, its name beside it, and its promise in the legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coterie.report.charts.figure import WIDE, Drawing, Figure, adaptive, shape_key, table
from coterie.report.charts.scale import Scale, number, percent, spread
from coterie.report.charts.svg import STATUS, Svg, bottom, cut, left, line, mark, text, text_width, together

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
    panel = adaptive("Risk and utility of each release", lambda width: _draw(points, width, loss))
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


def _draw(points: Sequence[RiskPoint], width: float, loss: str) -> Drawing:
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
    """Beside the mark, or the nearest free place above or below it. Without one, the tooltip and the table name it."""
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
