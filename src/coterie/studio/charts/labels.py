"""How often each label occurs before (filled) and after (outline), one row a label."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.studio.charts.drawing import Figure, Scale, bottom, box, path, picture, table, text, text_width
from coterie.studio.charts.histogram import legend

_WIDTH, _TOP, _ROW = 350.0, 28.0, 24.0


def label_bars(
    name: str, labels: Sequence[str], before: Sequence[int], after: Sequence[int], *, note: str = ""
) -> Figure:
    """The labels in the order given, from the top."""
    room = min(130.0, max((text_width(label) for label in labels), default=0.0)) + 10
    across = Scale(0, max([1, *before, *after]) * 1.05, room, _WIDTH - 30)
    base = _TOP + _ROW * len(labels)
    parts = bottom(across, base, f"{name}: records", _whole(across), grid_to=_TOP)
    for place, (label, one, other) in enumerate(zip(labels, before, after, strict=True)):
        y = _TOP + place * _ROW
        parts.append(text(room - 6, y + 16, label, anchor="end", width=room - 8))
        parts.append(box(room, y + 5, across.at(one) - room, _ROW - 10, "before"))
        corners = [
            (room, y + 3),
            (across.at(other), y + 3),
            (across.at(other), y + _ROW - 3),
            (room, y + _ROW - 3),
        ]
        parts.append(path(corners, "after"))
    parts += legend(_WIDTH)
    caption = f"{name}: records of each label before and after.{f' {note}' if note else ''}"
    rows = [
        (label, f"{one:,}", f"{other:,}") for label, one, other in zip(labels, before, after, strict=True)
    ]
    svg = picture(_WIDTH, base + 44, f"Labels of {name} before and after", parts)
    return Figure(svg, caption, (name, "before", "after"), table(rows))


def _whole(scale: Scale) -> list[tuple[float, str]]:
    """Records are counted: no half ones on the axis."""
    return [tick for tick in scale.ticks() if tick[0] == round(tick[0])]
