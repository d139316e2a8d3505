"""The one chart stack of report, studio and papers: functions from numbers to a Figure, one kind of chart per module.

    distributions.py  an attribute before (filled) and after (outlined): histogram, bars of labels
    heatmap.py        a triangle of correlations; an error over two settings
    lines.py          lines or dots, one or several panels
    marks.py          dots with whiskers, and what each is compared with; the risk–utility map

    scale.py          numbers to places, axes and ticks
    svg.py            the shapes all of them are made of
    figure.py         a Figure on a page, as an SVG file, as PNG
    static/           charts.css (both themes), charts.js (tooltips), a font for PNG

Why not a plotting library: docs/adr/0009-one-chart-stack.md. A figure reads in grey (filled against outlined, shapes,
dashes), keeps its letters on a phone, says every number in a tooltip and in a table, and needs no network and no inline
style.
"""

from coterie.report.charts.distributions import histogram, label_bars, side_by_side
from coterie.report.charts.figure import STATIC, Figure
from coterie.report.charts.heatmap import FieldGrid, correlation_matrix, heatmap, relation_matrix
from coterie.report.charts.lines import Lines, Series, lines
from coterie.report.charts.marks import IntervalRow, RiskPoint, intervals, risk_utility_map
from coterie.report.charts.scale import percent

__all__ = [
    "STATIC",
    "FieldGrid",
    "Figure",
    "IntervalRow",
    "Lines",
    "RiskPoint",
    "Series",
    "correlation_matrix",
    "heatmap",
    "histogram",
    "intervals",
    "label_bars",
    "lines",
    "percent",
    "relation_matrix",
    "risk_utility_map",
    "side_by_side",
]
