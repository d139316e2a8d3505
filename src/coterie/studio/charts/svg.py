"""The few shapes that all figures are made of. Colours come from the style sheet's classes, so both themes work."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from markupsafe import Markup, escape

LETTER = 6.8  # mean width of a letter at the style sheet's 12 px
_WIDE = "mwMW@%—…"  # about half as wide again: a short label of them would leave its frame
LINE = 16


def tag(name: str, content: Markup | str = "", **attributes: str | float | None) -> Markup:
    """One element. `class_` and `stroke_width` are written as class and stroke-width."""
    written = "".join(
        f' {key if key == "viewBox" else key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{escape(content)}</{name}>" if content else f"<{name}{written}/>")


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
    kept = words
    while kept and text_width(f"{kept}…") > width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    width: float | None = None,
    class_: str | None = None,
    transform: str | None = None,
) -> Markup:
    """Words at a place. Cut to `width`, they tell the whole in a tooltip."""
    shown = words if width is None else cut(words, width)
    content = escape(shown) if shown == words else escape(shown) + tag("title", escape(words))
    return tag("text", content, x=x, y=y, text_anchor=anchor, class_=class_, transform=transform)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def box(x: float, y: float, width: float, height: float, class_: str, words: str = "") -> Markup:
    """A rectangle; `words` are shown when the mouse rests on it."""
    told = tag("title", escape(words)) if words else ""
    return tag("rect", told, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=class_)


def path(places: Iterable[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    drawn = "L".join(f"{_plain(x)} {_plain(y)}" for x, y in places)
    return tag("path", d=f"M{drawn}{'Z' if closed else ''}", class_=class_)


def picture(
    width: float, height: float, label: str, parts: Iterable[Markup], *, wide: bool = False, own: bool = False
) -> Markup:
    """The whole figure. A wide one keeps its size on a phone and scrolls; `own`: never drawn larger than it is."""
    drawn = tag(
        "svg",
        Markup("").join(parts),
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
        class_="wide" if wide else "own" if own else "small",
    )
    attributes = (
        {"class_": "scroll", "tabindex": "0", "role": "group", "aria_label": label}
        if wide
        else {"class_": "fit"}
    )
    return tag("div", drawn, **attributes)
