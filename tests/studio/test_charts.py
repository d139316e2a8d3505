"""Figures: valid, honest about their numbers, and legible (no label on top of another)."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coterie.studio.charts.drawing import (
    COLOUR,
    Figure,
    Scale,
    apart,
    cut,
    date_ticks,
    mark,
    number,
    percent,
    spread,
    text_width,
)
from coterie.studio.charts.heatmap import _colour, _luminance, correlation, heatmap
from coterie.studio.charts.histogram import histogram
from coterie.studio.charts.intervals import Bar, interval_bars
from coterie.studio.charts.labels import label_bars
from coterie.studio.charts.lines import Series, lines
from coterie.studio.charts.scatter import Point, risk_utility

NASTY = "<b>&\"' </svg><script>alert(1)</script>"
counts = st.lists(st.integers(0, 10**6), min_size=1, max_size=40)
finite = st.floats(-1e9, 1e9, allow_nan=False)
positive = st.floats(1e-9, 1e9, allow_nan=False)


def parsed(figure: Figure) -> ElementTree.Element:
    root = ElementTree.fromstring(str(figure.svg))
    svg = root.find("svg")
    assert svg is not None
    assert svg.get("role") == "img"
    assert svg.get("aria-label")
    width, height = (float(part) for part in svg.get("viewBox", "").split()[2:])
    for found in svg.iter():
        for name, limit in (("x", width), ("x1", width), ("x2", width), ("cx", width)):
            assert -0.01 <= float(found.get(name, "0")) <= limit + 0.01
        for name in ("y", "y1", "y2", "cy"):
            assert -0.01 <= float(found.get(name, "0")) <= height + 0.01
        assert "style" not in found.attrib  # the pages' policy forbids inline styles
    assert all(len(row) == len(figure.headings) for row in figure.rows)
    return svg


def every_kind(name: str) -> list[Figure]:
    return [
        histogram(name, [0, 1, 2], [3, 4], [5, 2], unit=name, note=name),
        histogram(name, [0, 9000, 18000], [3, 4], [5, 2], dates=True),
        label_bars(name, [name, "b"], [3, 4], [7, 0]),
        heatmap(name, [name, "b"], [[1, -0.5], [-0.5, 1]]),
        risk_utility([Point(name, "proved", 0.5, 0.2, 0.1, 0.3)], loss=name, caption=name),
        risk_utility(
            [Point(name, status, 0.0, 1.0, 0.9, 1.0, promise=name[:20]) for status in COLOUR],
            loss="x",
            caption="",
        ),
        lines(
            [Series(name, ((1, 2), (10, 3))), Series("b", ((1, 5),))],
            x=name,
            y=name,
            caption=name,
            level=(1, name),
        ),
        interval_bars(
            [Bar(name, 0.5, 0.4, 0.6, 0.1)], axis=name, caption=name, mark=name, shares=True, first=name
        ),
    ]


@pytest.mark.parametrize("name", [NASTY, "年齢" * 40, "", "x" * 500], ids=["markup", "wide", "empty", "long"])
def test_any_name_can_be_drawn(name: str) -> None:
    for figure in every_kind(name):
        assert parsed(figure).find(".//script") is None
        assert "<script" not in str(figure.svg)


def test_a_long_name_is_cut_and_whole_in_its_tooltip() -> None:
    name = "a name that is much longer than the room beside the bar"
    figure = label_bars("x", [name], [1], [2])
    assert name in [title.text for title in parsed(figure).iter("title")]
    assert text_width(cut(name, 100)) <= 100
    assert cut(name, 100).endswith("…")
    assert cut("short", 100) == "short"


@given(counts)
def test_the_table_of_a_histogram_counts_every_record(before: list[int]) -> None:
    after = before[::-1]
    figure = histogram("x", [float(edge) for edge in range(len(before) + 1)], before, after)
    parsed(figure)
    whole = [sum(int(row[column].replace(",", "")) for row in figure.rows) for column in (1, 2)]
    assert whole == [sum(before), sum(after)]


@given(counts)
def test_bars_are_as_long_as_their_counts(before: list[int]) -> None:
    labels = [f"label {place}" for place in range(len(before))]
    svg = parsed(label_bars("x", labels, before, before))
    widths = [float(found.get("width", "")) for found in svg.iter("rect")][: len(before)]
    longest = max(before)
    for count, width in zip(before, widths, strict=True):
        assert width == pytest.approx(max(widths) * count / longest if longest else 0, abs=0.02)


@given(finite, positive, st.floats(60, 900))
def test_ticks_do_not_touch_and_lie_inside(low: float, size: float, pixels: float) -> None:
    high = low + max(size, abs(low) * 1e-6)
    scale = Scale(low, high, 50, 50 + pixels)
    ticks = scale.ticks()
    assert apart(scale, ticks, upright=False)
    room = 1e-6 * (high - low)
    assert all(low - room <= place <= high + room for place, _ in ticks)
    assert len({words for _, words in ticks}) == len(ticks)


@given(positive, st.floats(1.5, 1e9), st.floats(120, 900))
def test_log_ticks_do_not_touch(low: float, factor: float, pixels: float) -> None:
    scale = Scale(low, low * factor, 0, pixels, log=True)
    ticks = scale.ticks()
    assert apart(scale, ticks, upright=False)
    for place, _ in ticks[1:]:  # 1, 2 or 5 times a power of ten
        assert re.fullmatch(r"[125]e[+-]\d+", f"{place:.0e}")


@given(st.integers(-200_000, 200_000), st.integers(2, 200_000))
def test_ticks_of_dates_do_not_touch(first: int, days: int) -> None:
    scale = Scale(first, first + days, 0, 300)
    assert apart(scale, date_ticks(scale), upright=False)


@given(st.lists(finite, min_size=1, max_size=20), st.booleans())
def test_a_scale_holds_all_its_values(values: list[float], zero: bool) -> None:
    scale = spread(values, 0, 100, zero=zero)
    assert scale.low <= min(values) <= max(values) <= scale.high
    assert 0 <= min(map(scale.at, values)) <= max(map(scale.at, values)) <= 100


def test_numbers_are_shown_as_people_write_them() -> None:
    assert [number(value) for value in (0, 1234, 0.01234, -2.5, 1e7, 4.2e-6, float("nan"))] == [
        "0", "1,234", "0.0123", "−2.5", "10⁷", "4.2·10⁻⁶", "–",
    ]  # fmt: skip
    assert percent(0.073) == "7.3 %"
    assert correlation(-0.0001) == "0.00"
    assert correlation(-0.5) == "−0.50"


@given(st.floats(-1, 1))
def test_what_is_written_on_a_colour_can_be_read(share: float) -> None:
    """WCAG AA: a contrast of 4.5 at least."""
    light = _luminance(_colour(share))
    ink = 0.0 if light > 0.18 else 1.0
    assert (max(light, ink) + 0.05) / (min(light, ink) + 0.05) >= 4.5


def test_each_promise_has_a_mark_of_its_own_shape() -> None:
    from coterie.methods.guarantee import Status

    shapes = [re.sub(r"[sl]\d", "", str(mark(status.value, 50, 50))) for status in Status]
    assert len(set(shapes)) == len(Status)


@given(st.lists(st.tuples(positive, st.floats(0, 1)), min_size=1, max_size=10))
@example([(1.0, 0.0)] + [(5e8, 0.0)] * 9)  # all in a corner
@example([(5e8, 1.0)] * 20 + [(1.0, 1.0)] * 20)
def test_names_on_the_map_do_not_cover_one_another(places: list[tuple[float, float]]) -> None:
    points = [Point(f"m{i}", "proved", loss, risk, risk, risk) for i, (loss, risk) in enumerate(places)]
    svg = parsed(risk_utility(points, loss="loss", caption=""))
    names = [found for found in svg.iter("text") if found.text in {point.name for point in points}]
    boxes = [(float(t.get("x", "")), float(t.get("y", "")), text_width(t.text or "")) for t in names]
    for place, (x, y, width) in enumerate(boxes):
        for other_x, other_y, other_width in boxes[place + 1 :]:
            apart = max(other_x - x - width, x - other_x - other_width)
            assert abs(y - other_y) >= 13 or apart > -0.011  # written with two decimals


def test_names_of_lines_are_a_line_apart() -> None:
    svg = parsed(lines([Series(f"m{i}", ((1, 1), (10, 1))) for i in range(9)], x="k", y="e", caption="c"))
    heights = sorted(float(t.get("y", "")) for t in svg.iter("text") if re.fullmatch(r"m\d", t.text or ""))
    assert all(b - a >= 12 for a, b in pairwise(heights))
