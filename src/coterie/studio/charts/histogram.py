"""A number before (filled) and after (outline), counted in the same bins."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from coterie.studio.charts.drawing import (
    Figure,
    Scale,
    bottom,
    box,
    date_ticks,
    date_words,
    left,
    number,
    path,
    picture,
    table,
    text,
)

_WIDTH, _HEIGHT = 350.0, 250.0
_LEFT, _TOP, _BASE = 54.0, 44.0, 205.0


def histogram(
    name: str,
    edges: Sequence[float],
    before: Sequence[int],
    after: Sequence[int],
    *,
    unit: str = "",
    dates: bool = False,
    note: str = "",
) -> Figure:
    """`edges` has one more entry than the counts. `dates`: edges are days since 1970."""
    across = Scale(edges[0], edges[-1], _LEFT, _WIDTH - 34)
    up = Scale(0, max(1, *before, *after) * 1.05, _BASE, _TOP)
    ticks = date_ticks(across) if dates else across.ticks()
    title = f"{name} ({unit})" if unit else name
    whole = [place for place in up.ticks(upright=True) if place[0] == round(place[0])]
    parts = left(up, _LEFT, "records", whole, grid_to=across.end)
    for low, high, count in zip(edges, edges[1:], before, strict=False):
        parts.append(
            box(
                across.at(low), up.at(count), across.at(high) - across.at(low), _BASE - up.at(count), "before"
            )
        )
    outline = [(across.start, _BASE)]
    for low, high, count in zip(edges, edges[1:], after, strict=False):
        outline += [(across.at(low), up.at(count)), (across.at(high), up.at(count))]
    parts.append(path([*outline, (across.end, _BASE)], "after"))
    parts += bottom(across, _BASE, title, ticks)
    parts += legend(_WIDTH)
    shown = date_words if dates else number
    caption = f"{title}: records before and after, in {len(before)} equal bins.{f' {note}' if note else ''}"
    rows = [
        (f"{shown(low)} to {shown(high)}", f"{one:,}", f"{other:,}")
        for low, high, one, other in zip(edges, edges[1:], before, after, strict=False)
    ]
    return Figure(
        picture(_WIDTH, _HEIGHT, f"Histogram of {title} before and after", parts),
        caption,
        (title, "before", "after"),
        table(rows),
    )


def legend(width: float) -> list[Markup]:
    """Filled: before. Outline: after."""
    return [
        box(width - 150, 8, 16, 10, "before"),
        text(width - 130, 18, "before"),
        path([(width - 76, 18), (width - 76, 8), (width - 60, 8), (width - 60, 18)], "after"),
        text(width - 54, 18, "after"),
    ]
