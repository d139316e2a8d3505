"""The two axes of a figure: a line, ticks, and what they count."""

from __future__ import annotations

from markupsafe import Markup

from coterie.studio.charts.scales import Scale, Ticks
from coterie.studio.charts.svg import line, text


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
