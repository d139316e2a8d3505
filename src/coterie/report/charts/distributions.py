"""One attribute before (filled) and after (outlined): a histogram of numbers or dates, or bars of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from coterie.report.charts.figure import NARROW, Drawing, Figure, FigurePanel, Key, table
from coterie.report.charts.scale import Scale, bottom, date_ticks, date_words, percent, room_for
from coterie.report.charts.svg import box, line, path, text, text_width, together
from coterie.schema.exact import number

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
) -> Figure:
    """Counts over shared bins. `edges` has one more entry than the counts; `dates`: edges are days since 1970."""
    title = f"{name} ({unit})" if unit else name
    up = Scale(0, max([1, *before, *(count for counts in after.values() for count in counts)]), _BASE, _TOP)
    heights = [tick for tick in up.ticks(upright=True) if tick[0] == round(tick[0])]  # no half records
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
        row, said = _row(f"{shown(low)} to {shown(high)}", place, before, after)
        rows.append(row)
        parts.append(box(across.at(low), _TOP, across.at(high) - across.at(low), _BASE - _TOP, "hit", said))
    caption = f"{title}: records before and after, in {len(before)} equal bins."
    drawing = Drawing(NARROW, _BASE + 24, together(parts))
    return _figure(f"Histogram of {title} before and after", title, drawing, caption, after, rows)


def label_bars(name: str, labels: Sequence[str], before: Counts, after: Mapping[str, Counts]) -> Figure:
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
        row, said = _row(label, place, before, after)
        rows.append(row)
        parts.append(text(room - 8, y + 15, label, anchor="end", width=room - 8))
        parts.append(box(room, y + 4, across.at(before[place]) - room, _ROW - 8, "before"))
        for look, counts in enumerate(after.values()):
            at = across.at(counts[place])
            parts.append(line(at, y + 2, at, y + _ROW - 2, f"after-mark a{look % _LOOKS}"))
        parts.append(text(NARROW - 2, y + 15, shares[place], anchor="end", class_="tick"))
        parts.append(box(0, y, NARROW, _ROW, "hit", said))
    caption = f"{name}: records of each label before and after."
    drawing = Drawing(NARROW, top + _ROW * len(labels) + 6, together(parts))
    return _figure(f"Labels of {name} before and after", name, drawing, caption, after, rows)


def side_by_side(figures: Sequence[Figure], *, caption: str, title: str = "") -> Figure:
    """Several attributes in one figure with one legend and one table."""
    headings = ("attribute", "values", *figures[0].headings[1:])
    rows = tuple((figure.headings[0], *row) for figure in figures for row in figure.rows)
    panels = tuple(panel for figure in figures for panel in figure.panels)
    return Figure(panels, caption, headings, rows, figures[0].keys, title)


def _figure(
    label: str, title: str, drawing: Drawing, caption: str, after: Iterable[str], rows: list[tuple[str, ...]]
) -> Figure:
    outline = [(2, 13), (2, 2), (24, 2), (24, 13)]
    lines = (Key(words, path(outline, f"after a{look % _LOOKS}")) for look, words in enumerate(after))
    keys = (Key("before", box(2, 2, 22, 10, "before")), *lines)
    return Figure((FigurePanel(label, drawing),), caption, (title, "before", *after), table(rows), keys)


def _row(words: str, place: int, before: Counts, after: Mapping[str, Counts]) -> tuple[tuple[str, ...], str]:
    """One bin or label: its row of the table, and its tooltip."""
    counts = {"before": before[place], **{name: found[place] for name, found in after.items()}}
    said = "; ".join(f"{name}: {count:,}" for name, count in counts.items())
    return (words, *(f"{count:,}" for count in counts.values())), f"{words}\n{said}"


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
