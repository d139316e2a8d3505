"""One line a name, over a log or a plain scale; each has its own dashes, and its name at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.studio.charts.drawing import (
    LINE,
    Figure,
    bottom,
    left,
    line,
    number,
    path,
    picture,
    spread,
    table,
    tag,
    text,
    text_width,
)

_WIDTH, _LEFT, _TOP, _BASE = 680.0, 60.0, 40.0, 320.0


@dataclass(frozen=True, slots=True)
class Series:
    """Points from left to right. One point alone is a level: a line right across."""

    name: str
    points: tuple[tuple[float, float], ...]
    look: int | None = None  # colour and dashes, where several figures show the same names


def lines(
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    caption: str,
    log_x: bool = True,
    log_y: bool = True,
    level: tuple[float, str] | None = None,
) -> Figure:
    """`x` and `y` name the axes with their units. `level` is a value of y worth knowing, with its words."""
    room = min(160.0, max(text_width(one.name) for one in series)) + 16
    over = [place for one in series if len(one.points) > 1 for place, _ in one.points]
    across = spread(
        over or [place for one in series for place, _ in one.points], _LEFT, _WIDTH - room, log=log_x
    )
    heights = [value for one in series for _, value in one.points]
    up = spread([*heights, *([level[0]] if level else [])], _BASE, _TOP, log=log_y, zero=not log_y)
    parts = left(
        up, _LEFT, f"{y}{', log scale' if log_y else ''}", up.ticks(upright=True), grid_to=across.end
    )
    parts += bottom(across, _BASE, f"{x}{', log scale' if log_x else ''}", across.ticks())
    if level:
        parts.append(line(across.start, up.at(level[0]), across.end, up.at(level[0]), "level"))
        parts.append(text(across.start + 6, up.at(level[0]) - 5, level[1]))
    ends = _spaced([up.at(one.points[-1][1]) for one in series], _TOP, _BASE)
    for place, (one, end) in enumerate(zip(series, ends, strict=True)):
        look = place if one.look is None else one.look
        colour = look % 7 + 1
        drawn = [(across.at(a), up.at(b)) for a, b in one.points]
        alone = len(drawn) == 1
        course = [(across.start, drawn[0][1]), (across.end, drawn[0][1])] if alone else drawn
        parts.append(path(course, f"l{colour} dash{look % 4 + 1}"))
        if not alone:
            parts += [tag("circle", cx=a, cy=b, r=3.0, class_=f"s{colour}") for a, b in drawn]
        parts.append(
            line(
                drawn[-1][0] if not alone else across.end,
                drawn[-1][1],
                across.end + 8,
                end - 4,
                f"l{colour} thin",
            )
        )
        parts.append(text(across.end + 11, end, one.name, width=room - 12))
    rows = [(one.name, number(a), number(b)) for one in series for a, b in one.points]
    svg = picture(_WIDTH, _BASE + 44, f"{y} against {x}", parts, wide=True)
    return Figure(svg, caption, ("", x, y), table(rows))


def _spaced(wanted: Sequence[float], top: float, base: float) -> list[float]:
    """Baselines of names at least a line apart, as near to the wanted heights as the order allows."""
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    found, at = [0.0] * len(wanted), top - LINE
    for place in order:
        at = max(wanted[place] + 4, at + LINE)
        found[place] = at
    at = base + LINE
    for place in reversed(order):
        at = min(found[place], at - LINE)
        found[place] = at
    return found
