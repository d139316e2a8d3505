"""A drawn figure and the numbers that it shows: as part of a page, as an SVG file, and as PNG.

On a page each panel is a picture of its own, so panels flow under each other on a phone and letters keep their size. A
panel that fills the page is drawn twice, wide and narrow, and the style sheet shows the one that fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coterie.errors import MissingExtra, OutputError
from coterie.report.charts.svg import Svg, box, element, group, mark, text, text_width, together

STATIC = Path(__file__).parent / "static"
WIDE, NARROW = 720.0, 350.0
_PAGE = 1100.0  # how wide a file with several panels is
_GAP, _SIGN = 24.0, 30.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture at one size."""

    width: float
    height: float
    parts: Svg


@dataclass(frozen=True, slots=True)
class FigurePanel:
    """`label` says what the picture shows to those who do not see it."""

    label: str
    usual: Drawing
    narrow: Drawing | None = None


def adaptive(label: str, draw: Callable[[float], Drawing]) -> FigurePanel:
    """A panel that is as wide as the page, and one for a phone."""
    return FigurePanel(label, draw(WIDE), draw(NARROW))


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of the legend: a sign in a box of 26 × 14 pixels, and what it means."""

    words: str
    sign: Svg
    series: str = ""  # the series that comes forward when the entry is pointed at


def shape_key(words: str, shape: str, colour: int, *, hollow: bool = False) -> Key:
    return Key(words, mark(shape, 13, 7, colour, size=0.75, hollow=hollow))


@dataclass(frozen=True, slots=True)
class Figure:
    """What a page shows. Every cell of `rows` is text, as a reader should see it."""

    panels: tuple[FigurePanel, ...]
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: tuple[Key, ...] = ()
    title: str = ""  # written above the panels of a file; pages have headings of their own

    def __html__(self) -> str:
        """The figure, its legend and caption, and its numbers to be opened below."""
        parts = [
            element("div", together(map(_on_page, self.panels)), class_="panels"),
            element("figcaption", self.caption) if self.caption else Svg(),
            self._numbers() if self.rows else Svg(),
        ]
        return element("figure", together([self._legend(), *parts]), class_="chart")

    def _legend(self) -> Svg:
        size = {"viewBox": "0 0 26 14", "width": "26", "height": "14", "aria_hidden": "true"}
        entries = [
            element(
                "li",
                together([element("svg", key.sign, **size), element("span", key.words)]),
                data_series=key.series or None,
            )
            for key in self.keys
        ]
        return element("ul", together(entries), class_="legend") if entries else Svg()

    def _numbers(self) -> Svg:
        head = together(element("th", words, scope="col") for words in self.headings)
        rows = (element("tr", together(map(_cell, row))) for row in self.rows)
        table = together([element("thead", element("tr", head)), element("tbody", together(rows))])
        inner = element("div", element("table", table), class_="scroll", tabindex="0")
        summary = element("summary", "The numbers of this figure")
        return element("details", together([summary, inner]), class_="numbers")

    def svg(self) -> str:
        """One picture that needs nothing else: panels in rows, the legend above them, light colours."""
        rows = _in_rows([panel.usual for panel in self.panels])
        inner = max((sum(one.width + _GAP for one in row) - _GAP for row in rows), default=NARROW)
        width = max(inner, min(text_width(self.title) * 1.25, _PAGE)) + 2 * _GAP
        parts, y = [box(0, 0, width, 0, "ground")], _GAP
        if self.title:
            parts.append(text(_GAP, y + 12, self.title, width=width / 1.2, class_="heading"))
            y += 34
        x = _GAP
        for key in self.keys:
            size = _SIGN + text_width(key.words) + 18
            if x > _GAP and x + size > width:
                x, y = _GAP, y + 20
            sign = group([key.sign], transform=f"translate({x:.0f} {y:.0f})")
            parts += [sign, text(x + _SIGN, y + 11, key.words)]
            x += size
        y += 32 if self.keys else 0
        for row in rows:
            x = _GAP
            for one in row:
                parts.append(group([one.parts], transform=f"translate({x:.0f} {y:.0f})"))
                x += one.width + _GAP
            y += max(one.height for one in row) + _GAP
        parts[0] = box(0, 0, width, y, "ground")
        style = Svg(f"<style>{light_style()}</style>")
        return element(
            "svg",
            together([style, *parts]),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:.0f} {y:.0f}",
            width=width,
            height=y,
            class_="chart",
            role="img",
            aria_label=self.title or self.caption,
        )

    def png(self) -> bytes:
        try:
            import resvg_py
        except ImportError:
            raise MissingExtra.named("report", "A figure as PNG") from None
        drawn: bytes = resvg_py.svg_to_bytes(
            svg_string=self.svg(),
            zoom=2,
            font_files=[str(STATIC / "DejaVuSans-subset.ttf")],
            sans_serif_family="DejaVu Sans",
        )
        return bytes(drawn)

    def written_as(self, name: Path) -> bytes:
        """The figure in the format that the file's name asks for."""
        match name.suffix.lower():
            case ".svg":
                return self.svg().encode()
            case ".png":
                return self.png()
            case ".html":
                title = self.title or "Figure"
                return page(title, element("h1", title) + self.__html__(), style(), class_="alone").encode()
        raise OutputError(
            f"'{name.name}' does not say what kind of picture it is.", "Call it .svg, .png or .html."
        )


def page(title: str, body: str, rules: str, *, class_: str = "page") -> str:
    """One HTML file that opens offline, also where it holds figures."""
    return (
        f'<!doctype html>\n<html lang="en" class="{class_}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{element("title", title)}'
        f"<style>{rules}</style></head>\n<body>{body}<script>{script()}</script></body></html>\n"
    )


def table(rows: Iterable[Sequence[object]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(str(cell) for cell in row) for row in rows)


@cache
def style() -> str:
    return (STATIC / "charts.css").read_text(encoding="utf-8")


@cache
def page_style() -> str:
    """What every page of ours needs that is one file: type, tables, both themes, and the figures' own rules."""
    return (STATIC.parents[1] / "templates" / "page.css").read_text(encoding="utf-8") + style()


@cache
def script() -> str:
    return (STATIC / "charts.js").read_text(encoding="utf-8")


@cache
def light_style() -> str:
    """The rules for pictures with the light colours written in: what draws PNG knows no variables."""
    sheet = style()
    values = dict(re.findall(r"(--chart-[\w-]+): light-dark\((#\w+),", sheet))
    rules = sheet[sheet.index("/* pictures */") : sheet.index("/* pages */")]
    return re.sub(r"var\((--[\w-]+)\)", lambda found: values[found[1]], rules)


def _on_page(panel: FigurePanel) -> Svg:
    if panel.narrow is None:
        return _picture(panel.usual, panel.label, "panel")
    both = [_picture(panel.usual, panel.label, "wide"), _picture(panel.narrow, panel.label, "narrow")]
    return element("div", together(both), class_="adapt")


def _picture(drawing: Drawing, label: str, class_: str) -> Svg:
    """Its size is in rem: a reader who asks for larger letters gets a larger picture."""
    return element(
        "svg",
        drawing.parts,
        viewBox=f"0 0 {drawing.width:.0f} {drawing.height:.0f}",
        width=f"{drawing.width / 16:.3f}rem",
        height=f"{drawing.height / 16:.3f}rem",
        role="img",
        aria_label=label,
        class_=class_,
    )


def _in_rows(drawings: Sequence[Drawing]) -> list[list[Drawing]]:
    rows: list[list[Drawing]] = []
    room = 0.0
    for drawing in drawings:
        if not rows or room < drawing.width:
            rows.append([])
            room = _PAGE
        rows[-1].append(drawing)
        room -= drawing.width + _GAP
    return rows


def _cell(words: str) -> Svg:
    counts = bool(words) and (words[0].isdigit() or words[0] in "−–")
    return element("td", words, class_="number" if counts else None)
