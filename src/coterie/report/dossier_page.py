"""A dossier as one HTML file that opens offline: two sheets of paper on a screen, one column on a phone, A4 in print."""

from __future__ import annotations

from coterie.report.charts.figure import STATIC
from coterie.report.dossier_blocks import Dossier
from coterie.report.rendering import rendered


def dossier_page(dossier: Dossier) -> str:
    """The whole page."""
    style = (STATIC / "dossier.css").read_text(encoding="utf-8")
    filters = {"plain": unbroken, "kind": lambda block: type(block).__name__}
    return rendered("dossier.html.j2", "A dossier", filters, dossier=dossier, style=style)


def unbroken(words: str) -> str:
    """No line begins with a percent sign, and no code stands in a letter."""
    return words.replace(" %", "\u00a0%").replace("`", "")
