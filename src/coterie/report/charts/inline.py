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


def compared_mark(
    value: float, low: float | None, high: float | None, baseline: float | None, look: tuple[str, int]
) -> Svg:
    """A share with its interval beside a diamond for what it is compared with, from 0 to 1; grid at the quarters."""
    width, y = 320.0, 14.0

    def at(share: float) -> float:
        return 9 + min(max(share, 0.0), 1.0) * (width - 18)

    shape, colour = look
    parts = [line(at(0), y, at(1), y, "track")]
    parts += [line(at(end), y - 9, at(end), y + 9, "track") for end in (0, 0.5, 1)]
    if baseline is not None:
        parts.append(mark("diamond", at(baseline), y, 8, size=1.2, hollow=True))
    if low is not None and high is not None:
        parts.append(line(at(low), y, at(high), y, f"whisker l{colour}"))
        parts += [line(at(end), y - 5, at(end), y + 5, f"whisker l{colour}") for end in (low, high)]
    parts.append(mark(shape, at(value), y, colour, size=0.8))
    return _small(parts, width, 28.0)


def small_bars(counts: Sequence[int]) -> Svg:
    """A column's values at a glance: bars without an axis, for a cell of a table."""
    width, height = 128.0, 30.0
    most, step = max(counts, default=1) or 1, min(14.0, width / max(1, len(counts)))
    bars = [
        box(
            place * step,
            height - max(1.0, count / most * height),
            step - 1,
            max(1.0, count / most * height),
            "f7",
        )
        for place, count in enumerate(counts)
    ]
    return _small(bars, width, height)


def sign(shape: str, colour: int, *, hollow: bool = False) -> Svg:
    """One mark alone, for a legend."""
    return _small([mark(shape, 9, 8, colour, size=0.9, hollow=hollow)], 18.0, 16.0)


def meter(share: float) -> Svg:
    """A share as a bar that is filled so far."""
    full = min(share, 1.0) * _WIDE
    return _small([box(0, 1, _WIDE, 8, "q0"), box(0, 1, max(full, 1.0), 8, "f1")])


def _small(parts: Sequence[Svg], width: float = _WIDE, height: float = _HIGH) -> Svg:
    return element(
        "svg",
        together(parts),
        class_="chart",
        aria_hidden="true",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
    )
