"""Figures: valid, honest about their numbers, legible (no label on top of another), and the same in both themes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coterie.errors import OutputError
from coterie.methods.guarantee import Status
from coterie.report.charts import (
    STATIC,
    FieldGrid,
    Figure,
    IntervalRow,
    Lines,
    RiskPoint,
    Series,
    correlation_matrix,
    heatmap,
    histogram,
    intervals,
    label_bars,
    lines,
    percent,
    risk_utility_map,
    side_by_side,
)
from coterie.report.charts.heatmap import STEPS, correlation, diverging_step
from coterie.report.charts.scale import Scale, apart, chosen_ticks, date_ticks, date_words, spread
from coterie.report.charts.svg import LOOKS, STATUS, cut, mark, text_width
from coterie.schema.exact import number

NASTY = "<b>&\"' </svg><script>alert(1)</script>"
counts = st.lists(st.integers(0, 10**6), min_size=1, max_size=40)
finite = st.floats(-1e9, 1e9, allow_nan=False)
positive = st.floats(1e-9, 1e9, allow_nan=False)


def pictures(figure: Figure) -> Iterator[ElementTree.Element]:
    """Every picture of a figure, in each of its sizes, checked for what all of them must keep."""
    root = ElementTree.fromstring(figure.__html__())
    assert all(len(row) == len(figure.headings) for row in figure.rows)
    assert not root.findall(".//script")
    found = [svg for svg in root.iter("svg") if svg.get("role") == "img"]
    assert len(found) == sum(2 if panel.narrow else 1 for panel in figure.panels)
    for svg in found:
        assert svg.get("aria-label")
        width, height = (float(part) for part in svg.get("viewBox", "").split()[2:])
        for part in svg.iter():
            assert "style" not in part.attrib  # the studio's policy forbids inline styles
            for name, limit in (("x", width), ("x1", width), ("x2", width), ("cx", width)):
                assert -0.01 <= float(part.get(name, "0")) <= limit + 0.01
            for name in ("y", "y1", "y2", "cy"):
                assert -0.01 <= float(part.get(name, "0")) <= height + 0.01
        yield svg


def every_kind(name: str) -> list[Figure]:
    two = [Series(name, ((1, 2), (10, 3)), band=((1, 3), (2, 4))), Series("b", ((1, 5),), 1)]
    statuses = [RiskPoint(name, status, 0.0, 1.0, 0.9, 1.0, name[:20]) for status in STATUS]
    first = histogram(name, [0, 1, 2], [3, 4], {name: [5, 2], "b": [1, 1]}, unit=name)
    second = label_bars(name, [name, "b"], [3, 4], {name: [7, 0], "b": [1, 1]})
    return [
        first,
        histogram(name, [0, 9000, 18000], [3, 4], {"after": [5, 2]}, dates=True),
        label_bars(name, [name, "b"], [3, 4], {"after": [7, 0]}),
        side_by_side([first, second], caption=name, title=name),
        correlation_matrix(name, [name, "b", "c"], [[1, -0.5, 0], [-0.5, 1, 1], [0, 1, 1]]),
        heatmap(
            [FieldGrid(name, [name, "1"], ["2", name], [[1.0, float("nan")], [0.5, 2e7]])],
            row="ε",
            column=name[:30],
            value=name,
            caption=name,
        ),
        risk_utility_map([RiskPoint(name, "proved", 0.5, 0.2, 0.1, 0.3)], loss=name, caption=name),
        risk_utility_map(statuses, loss="x", caption=""),
        lines([Lines(name, two)], x=name, y=name, caption=name, level=(1, name), ticks=(1, 10)),
        lines([Lines(name, two), Lines("b", two)], x="x", y=name, caption="", title=name, diagonal=True),
        intervals(
            [IntervalRow(name, 0.5, 0.4, 0.6, 0.1, note=name)],
            axis=name,
            caption=name,
            mark_words=name,
            shares=True,
            first=name,
        ),
    ]


@pytest.mark.parametrize("name", [NASTY, "年齢" * 40, "", "x" * 500], ids=["markup", "wide", "empty", "long"])
def test_any_name_can_be_drawn(name: str) -> None:
    for figure in every_kind(name):
        assert list(pictures(figure))
        alone = ElementTree.fromstring(figure.svg())
        assert "<script" not in figure.__html__() + figure.svg()
        width, height = (float(alone.get(side, "0")) for side in ("width", "height"))
        assert 0 < width <= 1200
        assert height > 0


def test_every_number_has_a_tooltip_and_a_place_in_the_table() -> None:
    for figure in every_kind("name"):
        assert figure.rows
        for svg in pictures(figure):
            tips = [title.text or "" for title in svg.iter("title")]
            assert len(tips) >= 1
    svg = next(pictures(histogram("x", [0, 1, 2], [3, 4], {"after": [5, 2]})))
    assert [title.text for title in svg.iter("title")] == [
        "0 to 1\nbefore: 3; after: 5",
        "1 to 2\nbefore: 4; after: 2",
    ]


def test_a_figure_is_written_as_its_name_says(tmp_path: Path) -> None:
    figure = every_kind("name")[0]
    assert figure.written_as(tmp_path / "a.svg").startswith(b"<svg xmlns=")
    assert figure.written_as(tmp_path / "a.PNG").startswith(b"\x89PNG")
    page = figure.written_as(tmp_path / "a.html").decode()
    assert "<!doctype html>" in page
    assert not re.search(r"(src|href)=", page), "opens offline"
    with pytest.raises(OutputError, match="what kind of picture"):
        figure.written_as(tmp_path / "a.pdf")


def test_a_picture_file_needs_no_style_sheet() -> None:
    svg = every_kind("name")[0].svg()
    assert "var(" not in svg
    assert ".chart .f1 { fill: #" in svg


def test_every_class_of_a_figure_has_a_rule() -> None:
    """A shape whose class the style sheet does not know is drawn black."""
    sheet = (STATIC / "charts.css").read_text(encoding="utf-8")
    known = set(re.findall(r"\.([a-z][\w-]*)", sheet)) | {"dash0", "series", "mark", "wide", "panel"}
    for figure in every_kind("name"):
        used = {one for words in re.findall(r'class="([^"]*)"', figure.__html__()) for one in words.split()}
        assert used <= known


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_what_is_written_can_be_read_in_both_themes(theme: int) -> None:
    """WCAG AA: 4.5 for text on its ground, 3 for lines and marks; and steps of colour get darker one by one."""
    sheet = (STATIC / "charts.css").read_text(encoding="utf-8")
    tokens = {
        name: pair[theme]
        for name, *pair in re.findall(r"--chart-([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", sheet)
    }
    ground = tokens["ground"]
    for name in ("ink", "soft", "accent"):
        assert _contrast(tokens[name], ground) >= 4.5, name
        assert _contrast(tokens[name], tokens["raised"]) >= 4.5, name
    for name in (*"12345678", "axis"):
        assert _contrast(tokens[name], ground) >= 3, name
    for kind in "qd":
        for step in range(STEPS):
            assert _contrast(tokens[f"on-{kind}{step}"], tokens[f"{kind}{step}"]) >= 4.5
    ramp = [_luminance(tokens[f"q{step}"]) for step in range(STEPS)]
    assert ramp == sorted(ramp, reverse=theme == 0)
    assert abs(_luminance(tokens["before"]) - _luminance(tokens["1"])) > 0.1, "told apart in grey print"


def test_a_long_name_is_cut_and_whole_in_its_tooltip() -> None:
    name = "a name that is much longer than the room beside the bar"
    svg = next(pictures(label_bars("x", [name], [1], {"after": [2]})))
    assert name in [title.text for title in svg.iter("title")]
    assert text_width(cut(name, 100)) <= 100
    assert cut(name, 100).endswith("…")
    assert cut("short", 100) == "short"


@given(counts)
def test_the_table_of_a_histogram_counts_every_record(before: list[int]) -> None:
    figure = histogram("x", [float(edge) for edge in range(len(before) + 1)], before, {"after": before[::-1]})
    assert list(pictures(figure))
    whole = [sum(int(row[column].replace(",", "")) for row in figure.rows) for column in (1, 2)]
    assert whole == [sum(before), sum(before)]


@given(counts)
def test_bars_are_as_long_as_their_counts(before: list[int]) -> None:
    labels = [f"label {place}" for place in range(len(before))]
    svg = next(pictures(label_bars("x", labels, before, {"after": before})))
    widths = [float(found.get("width", "")) for found in svg.iter("rect") if found.get("class") == "before"]
    longest = max(before)
    for count, width in zip(before, widths, strict=True):
        assert width == pytest.approx(max(widths) * count / longest if longest else 0, abs=0.02)


@given(finite, positive, st.floats(60, 900))
def test_ticks_do_not_touch_and_lie_inside(low: float, size: float, pixels: float) -> None:
    high = low + max(size, abs(low) * 1e-6)
    scale = Scale(low, high, 50, 50 + pixels)
    ticks = scale.ticks()
    assert apart(scale, ticks)
    room = 1e-6 * (high - low)
    assert all(low - room <= place <= high + room for place, _ in ticks)
    assert len({words for _, words in ticks}) == len(ticks)


@given(positive, st.floats(1.5, 1e9), st.floats(120, 900))
def test_log_ticks_do_not_touch(low: float, factor: float, pixels: float) -> None:
    scale = Scale(low, low * factor, 0, pixels, log=True)
    ticks = scale.ticks()
    assert apart(scale, ticks)
    for place, _ in ticks[1:]:  # 1, 2 or 5 times a power of ten
        assert re.fullmatch(r"[125]e[+-]\d+", f"{place:.0e}")


@given(st.lists(st.integers(2, 5_000), min_size=1, max_size=30, unique=True), st.floats(150, 700))
def test_the_ks_that_were_run_are_named_without_touching(ks: list[int], pixels: float) -> None:
    scale = spread(sorted(ks), 30, 30 + pixels, log=True)
    shown = chosen_ticks(scale, sorted(ks))
    assert apart(scale, shown)
    assert shown[-1][0] == max(ks)
    assert {place for place, _ in shown} <= set(ks)


@given(st.integers(-200_000, 200_000), st.integers(2, 200_000))
def test_ticks_of_dates_do_not_touch(first: int, days: int) -> None:
    scale = Scale(first, first + days, 0, 300)
    assert apart(scale, date_ticks(scale))


def test_days_beyond_the_calendar_are_numbers() -> None:
    assert date_words(1e7) == "10 million"
    assert date_ticks(Scale(0, 1e8, 0, 300))


@given(st.lists(finite, min_size=1, max_size=20), st.booleans())
def test_a_scale_holds_all_its_values(values: list[float], zero: bool) -> None:
    scale = spread(values, 0, 100, zero=zero)
    assert scale.low <= min(values) <= max(values) <= scale.high
    assert 0 <= min(map(scale.at, values)) <= max(map(scale.at, values)) <= 100


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"), (1219.29558, "1,219"), (0.01234, "0.0123"), (-2.5, "−2.5"), (2e7, "20 million"), (1e6, "1 million"),
        (999_499, "999,499"), (999_999, "1 million"), (1.5e9, "1.5 billion"), (-3.25e12, "−3.25 trillion"),
        (4.2e-6, "0.0000042"), (3e-9, "3 × 10⁻⁹"), (1.6e18, "1.6 × 10¹⁸"), (float("nan"), "–"), (float("inf"), "–"),
    ],
)  # fmt: skip
def test_numbers_are_shown_as_people_write_them(value: float, shown: str) -> None:
    assert number(value) == shown


def test_shares_and_correlations_in_words() -> None:
    assert percent(0.073) == "7.3 %"
    assert correlation(-0.0001) == "0.00"
    assert correlation(-0.5) == "−0.50"
    assert [diverging_step(share) for share in (-3, -1, 0, 0.5, 1, float("nan"))] == [0, 0, 4, 6, 8, 4]


def test_axes_count_in_one_unit() -> None:
    assert [words for _, words in Scale(0, 2e7, 0, 350).ticks()] == [
        "0",
        "5 million",
        "10 million",
        "15 million",
        "20 million",
    ]
    assert [words for _, words in Scale(0, 1.2e6, 0, 330).ticks()][:2] == ["0", "0.5 million"]
    # Far from zero and close together: as many digits as tell them apart.
    assert len({words for _, words in Scale(1e9, 1e9 + 50, 0, 400).ticks()}) > 1


def test_each_promise_has_a_mark_of_its_own_shape() -> None:
    shapes = [re.sub(r"f\d", "", mark(STATUS[status.value][0], 50, 50, 1)) for status in Status]
    assert len(set(shapes)) == len(Status)
    assert len(set(LOOKS)) == 7, "seven series are told apart without colour"


@given(st.lists(st.tuples(positive, st.floats(0, 1)), min_size=1, max_size=10))
@example([(1.0, 0.0)] + [(5e8, 0.0)] * 9)  # all in a corner
@example([(5e8, 1.0)] * 20 + [(1.0, 1.0)] * 20)
def test_names_on_the_map_do_not_cover_one_another(places: list[tuple[float, float]]) -> None:
    points = [RiskPoint(f"m{i}", "proved", loss, risk, risk, risk) for i, (loss, risk) in enumerate(places)]
    for svg in pictures(risk_utility_map(points, loss="loss", caption="")):
        names = [found for found in svg.iter("text") if found.text in {point.name for point in points}]
        boxes = [(float(t.get("x", "")), float(t.get("y", "")), text_width(t.text or "")) for t in names]
        assert boxes
        for place, (x, y, width) in enumerate(boxes):
            for other_x, other_y, other_width in boxes[place + 1 :]:
                apart = max(other_x - x - width, x - other_x - other_width)
                assert abs(y - other_y) >= 13 or apart > -0.011  # written with two decimals


def test_a_wide_table_has_a_correlation_matrix_that_fits_a_page() -> None:
    names = [f"an_indicator_with_a_long_name_{place:03d}" for place in range(108)]
    figure = correlation_matrix("many", names, [[0.5] * 108] * 108)
    assert figure.panels[0].usual.width <= 1100
    few = correlation_matrix("few", names[:16], [[0.5] * 16] * 16)
    assert few.panels[0].usual.width == 350, "as wide as a phone"


def test_the_legend_of_many_series_wraps_in_a_file() -> None:
    many = [Series(f"plain Laplace, ε = {place}", ((1, 2), (3, 4)), place) for place in range(15)]
    alone = ElementTree.fromstring(lines([Lines("", many)], x="x", y="y", caption="").svg())
    space = "{http://www.w3.org/2000/svg}"
    width = float(alone.get("width", "0"))
    ends = [
        float(t.get("x", "0")) + text_width(t.text or "")
        for t in alone.iter(f"{space}text")
        if "Laplace" in (t.text or "")
    ]
    assert len(ends) == 15
    assert max(ends) <= width
