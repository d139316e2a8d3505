"""One attribute before (filled) and after (outlined): a histogram of numbers or dates, or bars of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from coterie.report.charts.figure import BEFORE, NARROW, Drawing, Figure, Panel, after_key, table
from coterie.report.charts.scale import Scale, date_ticks, date_words, number, percent
from coterie.report.charts.svg import bottom, box, line, path, room_for, text, text_width, together

Counts = Sequence[int]
_TOP, _BASE, _ROW = 42.0, 172.0, 22.0
_LOOKS = 4  # outlines that are told apart


def histogram(
    name: str,
    edges: Sequence[float],
    before: Counts,
    after: Mapping[str, Counts],
    *,
    unit: str = "",
    dates: bool = False,
    note: str = "",
) -> Figure:
    """Counts over shared bins. `edges` has one more entry than the counts; `dates`: edges are days since 1970."""
    title = f"{name} ({unit})" if unit else name
    up = Scale(0, max([1, *before, *(count for counts in after.values() for count in counts)]), _BASE, _TOP)
    heights = up.whole_ticks(upright=True)
    across = Scale(edges[0], edges[-1], room_for(heights), NARROW - 22)
    bins = list(pairwise(edges))
    shown = date_words if dates else number
    parts = [text(2, 13, title, width=NARROW - 4, class_="name"), text(2, 30, "records", class_="tick")]
    for value, words in heights:
        parts.append(line(across.start, up.at(value), across.end, up.at(value), "grid"))
        parts.append(text(across.start - 7, up.at(value) + 4, words, anchor="end", class_="tick"))
    parts.append(path(_outline(bins, before, across, up), "before", closed=True))
    for look, counts in enumerate(after.values()):
        parts.append(path(_outline(bins, counts, across, up), f"after a{look % _LOOKS}"))
    parts += bottom(across, _BASE, "", date_ticks(across) if dates else across.ticks())
    rows = []
    for place, (low, high) in enumerate(bins):
        counts = [before[place], *(counts[place] for counts in after.values())]
        between = f"{shown(low)} to {shown(high)}"
        rows.append((between, *(f"{count:,}" for count in counts)))
        said = "; ".join(f"{key}: {count:,}" for key, count in zip(("before", *after), counts, strict=True))
        width = across.at(high) - across.at(low)
        parts.append(box(across.at(low), _TOP, width, _BASE - _TOP, "hit", f"{between}\n{said}"))
    caption = f"{title}: records before and after, in {len(before)} equal bins.{f' {note}' if note else ''}"
    drawing = Drawing(NARROW, _BASE + 24, together(parts))
    return _figure(f"Histogram of {title} before and after", title, drawing, caption, after, rows)


def label_bars(
    name: str, labels: Sequence[str], before: Counts, after: Mapping[str, Counts], *, note: str = ""
) -> Figure:
    """How often each label occurs, in the order given, from the top."""
    shares = [_share_words(place, before, after) for place in range(len(labels))]
    right = max((text_width(words) for words in shares), default=0.0) + 12
    room = min(130.0, max((text_width(label) for label in labels), default=0.0)) + 10
    most = max([1, *before, *(count for counts in after.values() for count in counts)])
    across = Scale(0, most, room, NARROW - max(right, 24.0))
    top = 26.0
    parts = [text(2, 13, name, width=NARROW - 4, class_="name")]
    rows = []
    for place, label in enumerate(labels):
        y = top + place * _ROW
        counts = [before[place], *(counts[place] for counts in after.values())]
        rows.append((label, *(f"{count:,}" for count in counts)))
        said = "; ".join(f"{key}: {count:,}" for key, count in zip(("before", *after), counts, strict=True))
        parts.append(text(room - 8, y + 15, label, anchor="end", width=room - 8))
        parts.append(box(room, y + 4, across.at(before[place]) - room, _ROW - 8, "before"))
        for look, count in enumerate(counts[1:]):
            at = across.at(count)
            parts.append(line(at, y + 2, at, y + _ROW - 2, f"after-mark a{look % _LOOKS}"))
        parts.append(text(NARROW - 2, y + 15, shares[place], anchor="end", class_="tick"))
        parts.append(box(0, y, NARROW, _ROW, "hit", f"{label}\n{said}"))
    caption = f"{name}: records of each label before and after.{f' {note}' if note else ''}"
    drawing = Drawing(NARROW, top + _ROW * len(labels) + 6, together(parts))
    return _figure(f"Labels of {name} before and after", name, drawing, caption, after, rows)


def side_by_side(figures: Sequence[Figure], *, caption: str, title: str = "") -> Figure:
    """Several attributes in one figure with one legend and one table."""
    headings = ("attribute", "values", *figures[0].headings[1:])
    rows = tuple((figure.headings[0], *row) for figure in figures for row in figure.rows)
    panels = tuple(panel for figure in figures for panel in figure.panels)
    return Figure(panels, caption, headings, rows, figures[0].keys, title)


def _figure(
    label: str,
    title: str,
    drawing: Drawing,
    caption: str,
    after: Mapping[str, Counts],
    rows: list[tuple[str, ...]],
) -> Figure:
    keys = (BEFORE, *(after_key(words, look % _LOOKS) for look, words in enumerate(after)))
    return Figure((Panel(label, drawing),), caption, (title, "before", *after), table(rows), keys)


def _outline(
    bins: Sequence[tuple[float, float]], counts: Counts, across: Scale, up: Scale
) -> list[tuple[float, float]]:
    places = [(across.start, _BASE)]
    for (low, high), count in zip(bins, counts, strict=True):
        places += [(across.at(low), up.at(count)), (across.at(high), up.at(count))]
    return [*places, (across.end, _BASE)]


def _share_words(place: int, before: Counts, after: Mapping[str, Counts]) -> str:
    """56.2 → 53.4 %, where there is one release to compare with."""
    if len(after) != 1:
        return ""
    counts = next(iter(after.values()))
    shares = [part[place] / (sum(part) or 1) for part in (before, counts)]
    return f"{percent(round(shares[0], 3)).removesuffix(' %')} → {percent(round(shares[1], 3))}"
