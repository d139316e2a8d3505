"""A drawn figure, and the numbers that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Figure:
    """What `m.drawn` of the templates takes. Every cell is text, as a reader should see it."""

    svg: Markup
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table(rows: Sequence[Sequence[object]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(str(cell) for cell in row) for row in rows)
