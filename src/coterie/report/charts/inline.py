"""Marks so small that they stand beside a number, in a line of text or in a cell."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.report.charts.svg import Svg, box, element, line, mark, together

_WIDE, _HIGH = 96.0, 10.0


def interval_mark(value: float, lower: float, upper: float, least: float, most: float) -> Svg:
    """A value and its interval, on a scale from `least` to `most`."""
    room = (_WIDE - 8) / ((most - least) or 1.0)
    at, low, high = (4 + (number - least) * room for number in (value, lower, upper))
    parts = [
        line(4, 5, _WIDE - 4, 5, "track"),
        line(low, 5, high, 5, "whisker l1"),
        mark("circle", at, 5, 1, size=0.5),
    ]
    return _small(parts)


def meter(share: float) -> Svg:
    """A share as a bar that is filled so far."""
    full = min(share, 1.0) * _WIDE
    return _small([box(0, 1, _WIDE, 8, "q0"), box(0, 1, max(full, 1.0), 8, "f1")])


def _small(parts: Sequence[Svg]) -> Svg:
    return element(
        "svg",
        together(parts),
        class_="chart",
        aria_hidden="true",
        viewBox=f"0 0 {_WIDE:.0f} {_HIGH:.0f}",
        width=_WIDE,
        height=_HIGH,
    )
