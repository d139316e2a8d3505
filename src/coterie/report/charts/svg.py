"""The few shapes that all figures are made of. Colours and type come from the classes of charts.css, so both themes work."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from html import escape

LETTER = 6.8  # mean width of a letter at the style sheet's 12 px
_WIDE = "mwMW@%—…"  # about half as wide again: a short label of them would leave its frame
LINE = 16.0


class Svg(str):
    """Markup that is safe to put into a page: everything a user wrote in it is escaped already."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def element(name: str, content: str = "", **attributes: str | float | None) -> Svg:
    """One element; text is escaped. `class_` and `stroke_width` are written as class and stroke-width."""
    written = "".join(
        f' {key if key == "viewBox" else key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = content if isinstance(content, Svg) else escape(content)
    return Svg(f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>")


_TURNING = "\u202a-\u202e\u2066-\u2069"
_TURNED = re.compile(rf"(<(?:option|textarea|code|script)\b.*?</|<[^>]*>)|([{_TURNING}])", re.DOTALL)


def in_order(markup: str) -> str:
    """A sign in somebody's label that reverses the words after it is written out: ⟨U+202E⟩.

    Not in attributes, in what a form sends back, and in what is copied: these keep the label as it is.
    """
    if not re.search(f"[{_TURNING}]", markup):
        return markup
    return _TURNED.sub(lambda found: found[1] or f"⟨U+{ord(found[2]):04X}⟩", markup)


def together(parts: Iterable[Svg]) -> Svg:
    return Svg("".join(parts))


def group(parts: Iterable[Svg], class_: str | None = None, **attributes: str) -> Svg:
    return element("g", together(parts), class_=class_, **attributes)


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def text_width(words: str) -> float:
    """A safe estimate: East Asian letters are twice as wide, capitals a quarter wider."""
    return LETTER * sum(_letters(letter) for letter in words)


def _letters(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2.0
    return 1.7 if letter in _WIDE else 1.25 if letter.isupper() else 1.0


def cut(words: str, width: float) -> str:
    """The words, or as many letters as fit with a sign that some are missing."""
    if text_width(words) <= width + 0.5:
        return words
    room, kept = width - text_width("…"), ""
    for letter in words:
        room -= text_width(letter)
        if room < 0:
            break
        kept += letter
    return f"{kept.rstrip()}…"


def tip(words: str) -> Svg:
    """What is shown when the mouse, a finger or the keyboard rests on the element around it."""
    return element("title", words) if words else Svg()


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    width: float | None = None,
    class_: str | None = None,
    transform: str | None = None,
) -> Svg:
    """Words at a place. Cut to `width`, they are whole in a tooltip."""
    shown = words if width is None else cut(words, width)
    content = Svg(escape(shown) + tip(words)) if shown != words else shown
    return element("text", content, x=x, y=y, text_anchor=anchor, class_=class_, transform=transform)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Svg:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, words: str = "") -> Svg:
    """A rectangle; `words` are its tooltip."""
    size = {"width": max(width, 0.0), "height": max(height, 0.0)}
    return element("rect", tip(words), x=x, y=y, class_=class_, **size)


def path(places: Iterable[tuple[float, float]], class_: str, *, closed: bool = False, words: str = "") -> Svg:
    drawn = "L".join(f"{_plain(x)} {_plain(y)}" for x, y in places)
    return element("path", tip(words), d=f"M{drawn}{'Z' if closed else ''}", class_=class_)


# Marks are told apart by their shape alone; colour comes on top.

_STAR = tuple(
    (reach * math.cos(math.pi * (turn / 5 - 0.5)), reach * math.sin(math.pi * (turn / 5 - 0.5)))
    for turn in range(10)
    for reach in (9.0 if turn % 2 == 0 else 3.8,)
)
_CROSS = (
    (-7, -4),
    (-4, -7),
    (0, -3),
    (4, -7),
    (7, -4),
    (3, 0),
    (7, 4),
    (4, 7),
    (0, 3),
    (-4, 7),
    (-7, 4),
    (-3, 0),
)
_PLUS = tuple((0.636 * (a - b), 0.636 * (a + b)) for a, b in _CROSS)  # the same, turned by an eighth
SHAPES: dict[str, tuple[tuple[float, float], ...]] = {
    "circle": (),
    "square": ((-5.5, -5.5), (5.5, -5.5), (5.5, 5.5), (-5.5, 5.5)),
    "triangle": ((0, -7), (7, 6), (-7, 6)),
    "diamond": ((0, -8), (7, 0), (0, 8), (-7, 0)),
    "wedge": ((0, 7), (7, -6), (-7, -6)),
    "cross": _CROSS,
    "plus": _PLUS,
    "star": _STAR,
}
LOOKS = tuple(SHAPES)[:7]  # of the first seven series of a figure
STATUS = {
    "proved": ("star", 3),
    "bounded": ("square", 6),
    "conditional": ("triangle", 5),
    "heuristic": ("diamond", 4),
    "refuted": ("cross", 2),
    "none": ("circle", 7),
}  # one shape and one colour for each status of a promise


def mark(
    shape: str, x: float, y: float, colour: int, *, size: float = 1.0, hollow: bool = False, words: str = ""
) -> Svg:
    """`colour` 1 to 7. A hollow one is drawn as an outline on the ground's colour."""
    class_ = f"mark l{colour} hollow" if hollow else f"mark f{colour}"
    if shape == "circle":
        return element("circle", tip(words), cx=x, cy=y, r=6.0 * size, class_=class_)
    corners = [(x + size * a, y + size * b) for a, b in SHAPES[shape]]
    return path(corners, class_, closed=True, words=words)
