"""Attributes and correlations before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coterie.evaluation.correlation_error import correlations
from coterie.report.charts import Figure, correlation_matrix, histogram, label_bars, side_by_side
from coterie.report.counting import Counted, counted
from coterie.table.columns.column import Column, NumericColumn

Columns = Mapping[str, Column]


def distributions(original: Columns, releases: Mapping[str, Columns], *, title: str, caption: str) -> Figure:
    """One panel per attribute: the original filled, each release outlined."""
    drawn = [
        attribute_figure(counted(column, [columns[name] for columns in releases.values()]), tuple(releases))
        for name, column in original.items()
    ]
    return side_by_side(drawn, title=title, caption=caption)


def attribute_figure(found: Counted, releases: Sequence[str]) -> Figure:
    after = dict(zip(releases, found.after, strict=True))
    if found.edges is None:
        return label_bars(found.name, found.labels or [], found.before, after)
    name = f"{found.name}: {found.missing}" if found.missing else found.name
    return histogram(name, found.edges, found.before, after, unit=found.unit, dates=found.dates)


def correlation_matrices(
    original: Columns, releases: Mapping[str, Columns], *, title: str, caption: str
) -> Figure | None:
    """The correlations of the original and of each release, on one colour scale."""
    names = [name for name, column in original.items() if isinstance(column, NumericColumn)]
    if len(names) < 2:
        return None
    drawn = []
    for words, columns in {"original": original, **releases}.items():
        numbers = [column.values for column in columns.values() if isinstance(column, NumericColumn)]
        drawn.append(correlation_matrix(words, names, correlations(numbers).tolist()))
    rows = tuple(
        (figure.panels[0].label.removesuffix(": correlation matrix"), *row)
        for figure in drawn
        for row in figure.rows
    )
    panels = tuple(panel for figure in drawn for panel in figure.panels)
    return Figure(panels, caption, ("table", *drawn[0].headings), rows, drawn[0].keys, title)
