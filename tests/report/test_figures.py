"""Figures as a reader sees them: nothing cut off, nothing on top of something else, nothing counted as what it is not."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

from coterie.comparison.comparison import compare
from coterie.comparison.grid import make_grid
from coterie.papers.drawing import Line, Panel, line_panels
from coterie.report.audit_map import MapPoint, risk_utility_map
from coterie.report.comparison_figures import error_by_k, error_heatmaps
from coterie.report.style import as_png, plain_text
from coterie.report.table_figures import correlation_matrices, distributions
from coterie.schema.attributes import Schema
from coterie.table.checked import check


def _columns(values: np.ndarray, kind: str = "continuous") -> dict:
    one = Schema.from_yaml(
        f"attributes:\n  x: {{type: {kind}, role: protect, domain: {{lower: 0, upper: 100}}}}"
    )
    return check(pa.table({"x": values}), one).columns


def test_the_legend_of_one_narrow_panel_is_not_cut() -> None:
    columns = _columns(np.linspace(0, 100, 50))
    figure = distributions(columns, {f"idp-cbls-joint, k = {k}": columns for k in (100, 200, 300, 400, 500)})
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.x1


def test_a_constant_is_shown_over_its_whole_domain() -> None:
    """Around the value alone, all that the noise moved away would be counted in the bar of the value itself."""
    columns = _columns(np.full(50, 30.0))
    axis = distributions(columns, {"release": _columns(np.linspace(0, 100, 50))}).axes[0]
    original = [bar for bar in axis.patches if bar.get_label() != "release"]
    assert axis.get_xlim()[0] <= 0 <= 100 <= axis.get_xlim()[1]
    assert sum(bar.get_height() > 0 for bar in original if hasattr(bar, "get_height")) == 1


def test_few_whole_numbers_have_a_bar_each() -> None:
    axis = distributions(_columns(np.arange(50) % 4, "integer"), {}).axes[0]
    assert [bar.get_height() for bar in axis.patches] == [13, 13, 12, 12]


def test_a_wide_table_has_a_readable_correlation_matrix() -> None:
    one = _columns(np.linspace(0, 100, 50))["x"]
    figure = correlation_matrices({f"c{place}": one for place in range(60)}, {})
    assert figure is not None
    assert figure.get_size_inches().max() < 10
    assert len(figure.axes[0].get_yticklabels()) == 20


def test_a_figure_is_no_wider_than_the_page() -> None:
    """A browser would shrink it, and letters of 7 points with it."""
    one = _columns(np.linspace(0, 100, 50))["x"]
    wide = {f"an_indicator_with_a_long_name_{place:03d}": one for place in range(108)}
    drawn = [
        correlation_matrices(wide, {"a": wide, "b": wide}),
        distributions(dict(list(wide.items())[:4]), {}),
    ]
    schema = Schema.from_yaml("attributes:\n  x: {role: protect, domain: {lower: 0, upper: 100}}")
    table = pa.table({"x": np.linspace(0, 100, 60)})
    found = compare(table, schema, make_grid(["dp-ir"], ["0.1", "1", "2", "5"], [5, 10], runs=1))
    drawn.append(error_by_k(found, "sse", ["dp-ir"]))
    assert [figure.get_size_inches()[0] for figure in drawn if figure] == pytest.approx([10] * 3, abs=0.5)
    names = [label.get_text() for label in drawn[0].axes[0].get_yticklabels()]  # type: ignore[union-attr]
    assert names[-1].startswith("an_ind")
    assert names[-1].endswith("105")
    assert max(map(len, names)) == 20


def test_names_are_names_and_not_mathematics() -> None:
    """Two dollar signs would make a formula of what is between them, and a formula that is none would end the report."""
    name = "price $ low\nor $ ^^ high"
    schema = Schema.from_dict(
        {
            "attributes": {
                name: {"role": "protect", "domain": {"lower": 0, "upper": 100}, "unit": "$^"},
                "other $^ $": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
                "label": {
                    "type": "categorical",
                    "role": "protect",
                    "categories": {"labels": ["$^$", "日本"]},
                },
            }
        }
    )
    values = np.linspace(0, 100, 60)
    people = pa.table({name: values, "other $^ $": values, "label": ["$^$", "日本"] * 30})
    columns = check(people, schema).columns
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor are paths of our files printed where a font lacks a script
        assert as_png(distributions(columns, {"release": columns}))
        assert as_png(correlation_matrices(columns, {}))
    assert plain_text(name) == r"price \$ low or \$ ^^ high"


@pytest.mark.parametrize("epsilons", [["1"], ["0.1", "1"]])
def test_the_label_of_one_low_heatmap_is_not_cut(epsilons: list[str]) -> None:
    schema = Schema.from_yaml("attributes:\n  x: {role: protect, domain: {lower: 0, upper: 100}}")
    table = pa.table({"x": np.linspace(0, 100, 60)})
    found = compare(table, schema, make_grid(["dp-ir"], epsilons, [5, 10], runs=1))
    figure = error_heatmaps(found, "sse", ["dp-ir"])
    assert figure is not None
    figure.draw_without_rendering()
    label = figure.axes[-1].yaxis.label.get_window_extent()
    assert label.y0 >= 0
    assert label.y1 <= figure.bbox.y1


def test_the_legend_of_every_method_fits_under_one_panel() -> None:
    methods = ["laplace", "ir", "dp-ir", "dp-um", "dp-ir-path", "idp", "idp-ls", "idp-cbls", "idp-cbls-joint"]
    schema = Schema.from_yaml("attributes:\n  x: {role: protect, domain: {lower: 0, upper: 100}}")
    table = pa.table({"x": np.linspace(0, 100, 60)})
    figure = error_by_k(compare(table, schema, make_grid(methods, ["1"], [5, 10], runs=1)), "sse", methods)
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.x1


def test_many_heatmaps_stand_side_by_side_with_their_label_whole() -> None:
    methods = ["ir", "dp-ir", "dp-um", "idp-ls", "idp-cbls"]
    schema = Schema.from_yaml("attributes:\n  x: {role: protect, domain: {lower: 0, upper: 100}}")
    table = pa.table({"x": np.linspace(0, 100, 60)})
    found = compare(table, schema, make_grid(methods, ["1"], [5, 10], runs=1))
    figure = error_heatmaps(found, "sse", methods)
    figure.draw_without_rendering()
    panels = [axis for axis in figure.axes if axis.get_title(loc="left")]
    assert [axis.get_title(loc="left") for axis in panels] == methods
    assert panels[0].get_position().y0 == pytest.approx(panels[1].get_position().y0)
    label = figure.axes[-1].yaxis.label.get_window_extent()
    assert label.y0 >= 0
    assert label.y1 <= figure.bbox.y1


def test_names_on_the_map_do_not_lie_on_one_another() -> None:
    crowd = [("ir, k = 3", 0.005, 1.0), ("idp-cbls, k = 3", 0.02, 1.0), ("mdav, k = 3", 0.06, 1.0)]
    crowd += [("dp-ir, k = 10", 1.3, 0.62), ("dp-um, k = 10", 1.3, 0.62), ("dp-ir-path, k = 10", 1.3, 0.64)]
    crowd += [("laplace", 3.3, 0.0), ("idp", 3.2, 0.04), ("dp-mdav, k = 10", 3.1, 0.02)]
    figure = risk_utility_map(
        [MapPoint(name, "refuted", loss, risk, risk, risk) for name, loss, risk in crowd]
    )
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == len(crowd)
    overlapping = [
        (one, other) for place, one in enumerate(boxes) for other in boxes[:place] if one.overlaps(other)
    ]
    assert not overlapping
    assert all(box.y0 >= figure.axes[0].bbox.y0 and box.y1 <= figure.axes[0].bbox.y1 for box in boxes)


def test_the_legend_of_a_figure_with_one_panel_is_not_cut() -> None:
    """004 Fig. 1 is the only one so narrow."""
    panel = Panel("Adult", "SSE", (2, 5, 10))
    panel.lines.extend(Line(f"plain Laplace, ε = {place}", np.ones(3), place) for place in range(7))
    figure = line_panels([panel], 1, "one")
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.x1
