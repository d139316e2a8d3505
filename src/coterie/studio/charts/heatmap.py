"""Correlations as coloured fields with their values written in; orange is negative, purple positive."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import escape

from coterie.studio.charts.drawing import Figure, picture, tag, text, text_width

# The ends and the middle of ColorBrewer's PuOr, a diverging scale that colour-blind readers tell apart.
_NEGATIVE, _MIDDLE, _POSITIVE = (179, 88, 6), (247, 247, 247), (84, 39, 136)
_CELL, _ROOM = 44.0, 110.0


def heatmap(
    title: str,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    reach: float = 1.0,
    note: str = "",
) -> Figure:
    """A square matrix. `reach` is the value of the darkest colour."""
    room = min(_ROOM, max((text_width(name) for name in names), default=0.0)) + 8
    parts = []
    for place, name in enumerate(names):
        at = room + (place + 0.5) * _CELL
        parts.append(text(room - 6, at + 4, name, anchor="end", width=room - 8))
        parts.append(
            text(0, 0, name, width=room - 8, transform=f"translate({at + 4:.1f} {room - 6:.1f}) rotate(-60)")
        )
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            x, y = room + column * _CELL, room + row * _CELL
            colour = _colour(value / reach)
            told = escape(f"{names[row]} and {names[column]}: {correlation(value)}")
            parts.append(
                tag(
                    "rect",
                    tag("title", told),
                    x=x,
                    y=y,
                    width=_CELL - 1,
                    height=_CELL - 1,
                    fill=f"#{colour[0]:02x}{colour[1]:02x}{colour[2]:02x}",
                )
            )
            written = "on-light" if _luminance(colour) > 0.18 else "on-dark"
            parts.append(
                text(x + _CELL / 2, y + _CELL / 2 + 4, correlation(value), anchor="middle", class_=written)
            )
    # The slanted names of the last columns lean out to the right.
    size = room + len(names) * _CELL + room / 2
    height, label = room + len(names) * _CELL + 4, f"{title}: correlation matrix"
    svg = picture(
        size, height, label, parts, wide=size > 360, own=True
    )  # one scale for all matrices of a page
    caption = f"{title}. Orange is negative, purple positive.{f' {note}' if note else ''}"
    rows = tuple((name, *map(correlation, line)) for name, line in zip(names, values, strict=True))
    return Figure(svg, caption, ("", *names), rows)


def correlation(value: float) -> str:
    """Two decimals; what rounds to nothing has no sign."""
    shown = f"{value:.2f}"
    return "0.00" if shown == "-0.00" else shown.replace("-", "−")


def _colour(share: float) -> tuple[int, int, int]:
    share = min(max(share, -1.0), 1.0)
    end, part = (_POSITIVE, share) if share >= 0 else (_NEGATIVE, -share)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(_MIDDLE, end, strict=True))
    return red, green, blue


def _luminance(colour: tuple[int, int, int]) -> float:
    """WCAG 2 relative luminance: above 0.18 black has more contrast than white."""
    parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
