"""Fields of colour: a triangle of correlations, or an error over two settings. The style sheet has nine steps of colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coterie.report.charts.figure import NARROW, Drawing, Figure, FigurePanel, Key, table
from coterie.report.charts.svg import Svg, box, cut, text, text_width, together
from coterie.schema.exact import number

STEPS = 9
# Pixels: fields, and from which size on values, and the numbers of pairs, stand in them.
_LARGEST, _SMALLEST, _WRITTEN, _NUMBERED = 44.0, 9.0, 33.0, 14.0
_NAMES = 96.0


def correlation_matrix(
    title: str,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    reach: float = 1.0,
    note: str = "",
    numbered: Mapping[tuple[int, int], int] | None = None,
) -> Figure:
    """Each pair once. Orange is negative, purple positive; `reach` is the value of the darkest colour.

    `numbered`: pairs of places whose fields bear a number, the smaller place first.
    """
    drawing = _triangle(
        title, names, values, lambda value: f"d{diverging_step(value / reach)}", numbered or {}
    )
    caption = f"{title}. {note or 'Orange is negative, purple positive.'}"
    key = Key(f"−{number(reach, 2)} to {number(reach, 2)}", _ramp("d"))
    return _matrix(f"{title}: correlation matrix", names, values, drawing, caption, key)


def relation_matrix(
    title: str, names: Sequence[str], values: Sequence[Sequence[float]], *, most: float = 1.0
) -> Figure:
    """Each pair once, from 0 (one tells nothing about the other) to `most`, the darkest colour."""
    drawing = _triangle(
        title, names, values, lambda value: f"q{min(STEPS - 1, int(value / most * STEPS))}", {}
    )
    key = Key(f"0 to {number(most, 2)}", _ramp("q"))
    return _matrix(
        f"{title}: relations",
        names,
        values,
        drawing,
        f"{title}. The stronger the colour, the stronger the relation.",
        key,
    )


def _matrix(
    label: str,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    drawing: Drawing,
    caption: str,
    key: Key,
) -> Figure:
    rows = table((name, *map(correlation, line)) for name, line in zip(names, values, strict=True))
    return Figure((FigurePanel(label, drawing),), caption, ("", *names), rows, (key,))


def _triangle(
    title: str,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    shade: Callable[[float], str],
    numbered: Mapping[tuple[int, int], int],
) -> Drawing:
    """What lies under the diagonal; `shade` names the colour of a value."""
    room = min(_NAMES, max((text_width(name) for name in names), default=0.0)) + 8
    size = min(_LARGEST, max(_SMALLEST, (NARROW - room - 4) / max(1, len(names) - 1)))
    every = math.ceil(12.0 / size)  # of a wide table, every second or third is named
    parts = [text(2, 13, title, width=NARROW - 4, class_="name")]
    top = 24.0
    for place, name in enumerate(names):
        if place % every == 0:
            middle = top + (place - 0.5) * size
            if place:
                parts.append(text(room - 6, middle + 4, name, anchor="end", width=room - 6))
            if place < len(names) - 1:
                x, y = room + (place + 0.5) * size + 4, top + (len(names) - 1) * size + 6
                written = cut(name, room - 6)
                turned = f"translate({x:.1f} {y:.1f}) rotate(-90)"
                parts.append(text(0, 0, written, anchor="end", transform=turned))
    for row in range(1, len(names)):
        for column in range(row):
            value = values[row][column]
            x, y = room + column * size, top + (row - 1) * size
            words = f"{names[column]} and {names[row]}\n{correlation(value)}"
            written = correlation(value) if size >= _WRITTEN else ""
            if (column, row) in numbered and size >= _NUMBERED:
                written = str(numbered[column, row])
            parts += _field(x, y, size, size, shade(value), written, words)
    width = room + max(1, len(names) - 1) * size + 4
    low = max((text_width(cut(name, room - 6)) for name in names[:-1]), default=0.0)
    return Drawing(max(width, NARROW), top + (len(names) - 1) * size + low + 10, together(parts))


def correlation(value: float) -> str:
    """Two decimals; what rounds to nothing has no sign."""
    shown = f"{value:.2f}"
    return "–" if math.isnan(value) else "0.00" if shown == "-0.00" else shown.replace("-", "−")


@dataclass(frozen=True, slots=True)
class FieldGrid:
    """A panel of values over rows and columns; NaN where nothing was measured."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]


def heatmap(
    grids: Sequence[FieldGrid],
    *,
    row: str,
    column: str,
    value: str,
    caption: str,
    log: bool = True,
    title: str = "",
) -> Figure:
    """All panels on one colour scale, the values written into the fields where there is room. Dark is large."""
    known = [
        v for grid in grids for line in grid.values for v in line if math.isfinite(v) and (not log or v > 0)
    ]
    low, high = (min(known), max(known)) if known else (1.0, 1.0)
    panels = [_grid(grid, row, column, value, _shade(low, high, log=log)) for grid in grids]
    rows = table(
        (grid.title, one, other, number(found))
        for grid in grids
        for one, line in zip(grid.rows, grid.values, strict=True)
        for other, found in zip(grid.columns, line, strict=True)
    )
    key = Key(f"{number(low)} to {number(high)}: {value}{', log scale' if log else ''}", _ramp("q"))
    return Figure(tuple(panels), caption, ("", row, column, value), rows, (key,), title)


def _grid(grid: FieldGrid, row: str, column: str, value: str, shade: Callable[[float], int]) -> FigurePanel:
    room = min(_NAMES, max(text_width(words) for words in grid.rows)) + 12
    width = min(64.0, (NARROW - room - 6) / len(grid.columns))
    height = 26.0 if width >= _WRITTEN else 22.0
    every = math.ceil((min(_NAMES, max(text_width(words) for words in grid.columns)) + 6) / width)
    top = 44.0
    parts = [
        text(2, 13, grid.title, width=NARROW - 4, class_="name"),
        text(2, 34, row, width=NARROW - 4, class_="title"),
    ]
    for place, words in enumerate(grid.rows):
        parts.append(
            text(room - 8, top + place * height + height / 2 + 4, words, anchor="end", width=room - 8)
        )
        for other, found in enumerate(grid.values[place]):
            x, y = room + other * width, top + place * height
            if math.isnan(found):
                parts.append(text(x + width / 2, y + height / 2 + 4, "–", anchor="middle", class_="tick"))
                continue
            short = number(found, 2)
            short = short if text_width(short) <= width - 2 else ""
            said = f"{row} = {words}, {column} = {grid.columns[other]}\n{value}: {number(found)}"
            parts += _field(x, y, width, height, f"q{shade(found)}", short, said)
    end = top + len(grid.rows) * height
    for place, words in enumerate(grid.columns):
        if place % every == 0:
            middle = room + (place + 0.5) * width
            parts.append(text(middle, end + 16, words, anchor="middle", width=_NAMES, class_="tick"))
    last = room + len(grid.columns) * width
    parts.append(text(last, end + 33, column, anchor="end", width=last - 2, class_="title"))
    return FigurePanel(
        f"{grid.title}: {value} over {row} and {column}", Drawing(NARROW, end + 40, together(parts))
    )


def _field(
    x: float, y: float, width: float, height: float, class_: str, written: str, words: str
) -> list[Svg]:
    gap = 1.0 if width > 14 else 0.5
    parts = [box(x, y, width - gap, height - gap, class_, words)]
    if written:
        parts.append(text(x + width / 2, y + height / 2 + 4, written, anchor="middle", class_=f"on-{class_}"))
    return parts


def _shade(low: float, high: float, *, log: bool) -> Callable[[float], int]:
    def step(value: float) -> int:
        if log:
            share = math.log(max(value, low) / low) / (math.log(high / low) or 1.0)
        else:
            share = (value - low) / ((high - low) or 1.0)
        return min(STEPS - 1, int(share * STEPS))

    return step


def diverging_step(share: float) -> int:
    """0 the darkest orange, 4 nothing, 8 the darkest purple."""
    share = min(max(share, -1.0), 1.0) if math.isfinite(share) else 0.0
    return round(4 + 4 * share)


def _ramp(kind: str) -> Svg:
    return together(box(place * 26 / STEPS, 1, 26 / STEPS, 12, f"{kind}{place}") for place in range(STEPS))
