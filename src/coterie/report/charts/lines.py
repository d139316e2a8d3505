"""Lines or dots over a log or a plain scale. Each series has its own colour, dashes and mark, so grey print is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.report.charts.figure import (
    NARROW,
    WIDE,
    Drawing,
    Figure,
    FigurePanel,
    Key,
    adaptive,
    shape_key,
    table,
)
from coterie.report.charts.scale import bottom, chosen_ticks, left, room_for, spread
from coterie.report.charts.svg import LOOKS, group, line, mark, path, text, together
from coterie.schema.exact import number

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Series:
    """Points from left to right. One point alone is a level: a line right across."""

    name: str
    points: Points
    look: int = 0  # colour and mark; the same name has the same look in every panel
    dash: int | None = None  # dashes, where they mean something of their own
    band: Sequence[tuple[float, float]] = ()  # lowest and highest of all runs, for each point
    joined: bool = True  # False: dots alone
    marked: bool = True  # False: the line alone


@dataclass(frozen=True, slots=True)
class Lines:
    """One panel."""

    title: str
    series: Sequence[Series]
    y: str = ""  # where panels count different things
    log_y: bool = True


def lines(
    panels: Sequence[Lines],
    *,
    x: str,
    y: str = "",
    caption: str,
    log_x: bool = True,
    level: tuple[float, str] | None = None,
    ticks: Sequence[float] = (),
    diagonal: bool = False,
    title: str = "",
) -> Figure:
    """`x` and `y` name the axes with their units. `level` is a value of y worth knowing, with its words.

    `ticks` are the only values of x that were run. `diagonal`: where both axes are equal.
    """

    def draw(panel: Lines, width: float) -> Drawing:
        return _draw(panel, width, x, panel.y or y, log_x, level, ticks, diagonal)

    if len(panels) == 1:
        only = panels[0]
        drawn = [adaptive(f"{only.title or y} against {x}", lambda width: draw(only, width))]
    else:
        drawn = [FigurePanel(f"{one.title}: {one.y or y} against {x}", draw(one, NARROW)) for one in panels]
    keys: dict[str, Key] = {}
    for one in panels:
        for series in one.series:
            keys.setdefault(series.name, _key(series))
    if level:
        keys[level[1]] = Key(level[1], line(0, 7, 26, 7, "level"))
    rows = [
        (*((one.title,) if len(panels) > 1 else ()), series.name, number(a), number(b))
        for one in panels
        for series in one.series
        for a, b in series.points
    ]
    headings = (*(("",) if len(panels) > 1 else ()), "", x, y or panels[0].y)
    return Figure(tuple(drawn), caption, headings, table(rows), tuple(keys.values()), title)


def _key(series: Series) -> Key:
    shape = LOOKS[series.look % len(LOOKS)]
    if not series.joined:
        return shape_key(series.name, shape, series.look % 7 + 1)
    alone = len(series.points) == 1 or not series.marked
    colour, dash = _style(series)
    sign = [line(0, 7, 26, 7, f"l{colour} dash{dash}")]
    sign += [] if alone else [mark(shape, 13, 7, colour, size=0.6)]
    return Key(series.name, together(sign), series.name)


def _style(series: Series) -> tuple[int, int]:
    """Colour and dashes."""
    return series.look % 7 + 1, series.look % 4 if series.dash is None else series.dash


def _draw(
    panel: Lines,
    width: float,
    x: str,
    y: str,
    log_x: bool,
    level: tuple[float, str] | None,
    ticks: Sequence[float],
    diagonal: bool,
) -> Drawing:
    top = 52.0 if panel.title else 30.0
    base = top + (280.0 if width == WIDE else 200.0)
    heights = [value for one in panel.series for _, value in one.points]
    heights += [value for one in panel.series for band in one.band for value in band]
    up = spread([*heights, *([level[0]] if level else [])], base, top, log=panel.log_y, zero=not panel.log_y)
    marks = up.ticks(upright=True)
    start = max(room_for(marks), 30.0)
    over = [place for one in panel.series if len(one.points) > 1 for place, _ in one.points]
    over = over or [place for one in panel.series for place, _ in one.points] or [1.0]
    across = spread(over, start, width - 18, log=log_x)
    parts = [text(2, 13, panel.title, width=width - 4, class_="name")] if panel.title else []
    parts += left(up, start, f"{y}{', log scale' if panel.log_y else ''}", marks, grid_to=across.end)
    named = chosen_ticks(across, sorted(set(ticks))) if ticks else across.ticks()
    parts += bottom(across, base, f"{x}{', log scale' if log_x else ''}", named)
    if level:
        at = up.at(level[0])
        parts.append(line(across.start, at, across.end, at, "level"))
    if diagonal:
        ends = max(across.low, up.low), min(across.high, up.high)
        parts.append(line(across.at(ends[0]), up.at(ends[0]), across.at(ends[1]), up.at(ends[1]), "level"))
    small = 0.5 if width == NARROW else 0.62
    for one in panel.series:
        colour, dash = _style(one)
        places = [(across.at(a), up.at(b)) for a, b in one.points]
        alone = len(places) == 1 and one.joined
        drawn = []
        if one.band:
            edge = [(across.at(a), up.at(low)) for (a, _), (low, _) in zip(one.points, one.band, strict=True)]
            edge += [
                (across.at(a), up.at(high)) for (a, _), (_, high) in zip(one.points, one.band, strict=True)
            ][::-1]
            drawn.append(path(edge, f"band f{colour}", closed=True))
        if one.joined and places:
            course = [(across.start, places[0][1]), (across.end, places[0][1])] if alone else places
            said = f"{one.name}\n{y}: {number(one.points[0][1])}" if alone else ""
            drawn.append(path(course, f"l{colour} dash{dash}", words=said))
        for place, ((a, b), (left_of, down)) in enumerate(zip(one.points, places, strict=True)):
            if alone:
                break
            between = f" ({number(one.band[place][0])} to {number(one.band[place][1])})" if one.band else ""
            said = f"{one.name}\n{x}: {number(a)}\n{y}: {number(b)}{between}"
            if one.marked:
                shape = LOOKS[one.look % len(LOOKS)]
                drawn.append(
                    mark(shape, left_of, down, colour, size=small if one.joined else 0.55, words=said)
                )
        parts.append(group(drawn, "series", data_series=one.name))
    return Drawing(width, base + 42, together(parts))
