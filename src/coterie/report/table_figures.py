"""Attributes and correlations before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.correlation_error import correlations
from coterie.report.style import COLOURS, new_figure, plain_log, plain_text
from coterie.schema.attributes import AttributeType
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn

Columns = Mapping[str, Column]
DASHES = ("-", "--", "-.", ":")
MOST_LABELS = 12
MOST_BARS = 40
MOST_NAMES = 25  # along the side of a matrix
PAGE = 9.6  # inches: a wider figure would be shrunk to the page, its letters too
_SECONDS = {AttributeType.DATE: 86_400, AttributeType.TIMESTAMP: 1}  # in what a number counts, from 1970 on


def distributions(original: Columns, releases: Mapping[str, Columns]) -> Any:
    """One panel an attribute: the original filled grey, each release a line."""
    across = min(3, len(original))
    rows = -(-len(original) // across)
    figure, axes = new_figure(min(3.9 * across, PAGE), 2.3 * rows + 0.5, rows, across)
    for axis, (name, column) in zip(axes.flat, original.items(), strict=False):
        released = {title: columns[name] for title, columns in releases.items()}
        if isinstance(column, NumericColumn) and column.attribute.type is not AttributeType.ORDINAL:
            _histogram(axis, column, released)
        else:
            _bars(axis, column, released)
        axis.set_xlabel(_axis_label(column), fontsize=8)
    for axis in list(axes.flat)[len(original) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    # At the top: under twenty rows of panels nobody would find it. As many side by side as the width has room for.
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=min(2 * across, len(labels)),
        fontsize=8,
        frameon=False,
    )
    return figure


def _histogram(axis: Any, column: NumericColumn, released: Mapping[str, Column]) -> None:
    values = column.values
    edges = _edges(column)
    axis.hist(np.clip(values, edges[0], edges[-1]), edges, color="#cccccc", label="original")
    for place, (title, other) in enumerate(released.items()):
        assert isinstance(other, NumericColumn)
        axis.hist(
            np.clip(other.values, edges[0], edges[-1]),
            edges,
            histtype="step",
            color=COLOURS[place % len(COLOURS)],
            linestyle=DASHES[place % len(DASHES)],
            linewidth=1.3,
            label=title,
        )
    axis.set_yscale("log")
    axis.set_ylim(bottom=0.7)  # from one record on: a bar of few is as low in every panel
    plain_log(axis.yaxis, *axis.get_ylim())
    axis.set_ylabel("records (log scale)", fontsize=8)
    if column.attribute.type is AttributeType.DATE:
        from matplotlib import dates

        locator: Any = dates.AutoDateLocator
        axis.xaxis.set_major_locator(locator(minticks=2, maxticks=5))  # first days of years or months
    else:
        axis.locator_params(axis="x", nbins=5)  # more numbers of six digits would run into each other
    unit = _SECONDS.get(column.attribute.type)
    if unit is None:
        axis.xaxis.set_major_formatter(lambda place, _: f"{place:,.6g}")
    else:
        axis.xaxis.set_major_formatter(lambda place, _: str(np.datetime64(int(place * unit), "s"))[:10])
        axis.tick_params(axis="x", labelrotation=30, labelsize=6.5)


def _edges(column: NumericColumn) -> NDArray[np.float64]:
    """40 bars up to the upper half percent; one a value where there are few whole ones; of a constant, the whole domain."""
    low, high = float(column.values.min()), float(np.quantile(column.values, 0.995))
    if high <= low:
        low, high = min(low, column.domain.lower), max(low, column.domain.upper)
    if column.attribute.type is AttributeType.INTEGER and high - low < MOST_BARS:
        return np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
    return np.linspace(low, high, MOST_BARS + 1)


def _bars(axis: Any, column: Column, released: Mapping[str, Column]) -> None:
    """Ordinal labels in their order; others, the most frequent first."""
    labels = _labels(column)
    before = np.bincount(_codes(column), minlength=len(labels))
    ordinal = isinstance(column, NumericColumn)
    shown = (np.arange(len(labels)) if ordinal else np.argsort(-before, kind="stable"))[:MOST_LABELS]
    places = np.arange(len(shown))
    axis.bar(places, before[shown], color="#cccccc", width=0.9, label="original")
    for place, (title, other) in enumerate(released.items()):
        after = np.bincount(_codes(other), minlength=len(labels))
        axis.plot(
            places,
            after[shown],
            marker="_",
            markersize=11,
            markeredgewidth=2,
            linestyle="",
            color=COLOURS[place % len(COLOURS)],
            label=title,
        )
    axis.set_xticks(
        places, [plain_text(labels[code], 24) for code in shown], rotation=60, ha="right", fontsize=6
    )
    axis.set_ylabel("records", fontsize=8)


def _labels(column: Column) -> Sequence[str]:
    if isinstance(column, CategoryColumn):
        return column.taxonomy.categories
    declared = column.attribute.categories
    assert declared is not None
    assert declared.labels is not None
    return declared.labels


def _codes(column: Column) -> NDArray[np.int64]:
    codes = column.codes if isinstance(column, CategoryColumn) else np.rint(column.values)
    return codes.astype(np.int64)


def _axis_label(column: Column) -> str:
    attribute = column.attribute
    return plain_text(f"{attribute.name} ({attribute.unit})" if attribute.unit else attribute.name)


def correlation_matrices(original: Columns, releases: Mapping[str, Columns]) -> Any | None:
    """The correlation matrix of the original and of each release, on one colour scale."""
    names = [name for name, column in original.items() if isinstance(column, NumericColumn)]
    if len(names) < 2:
        return None
    panels: dict[str, Columns] = {"original": original, **releases}
    every = -(-len(names) // MOST_NAMES)  # of a wide table, every second or third is named
    named = [plain_text(name, 20) for name in names[::every]]
    size = max(2.6, 1.2 + 0.14 * min(len(names), MOST_NAMES))
    across = min(3 if 3 * size <= PAGE else 2, len(panels))
    rows = -(-len(panels) // across)
    figure, axes = new_figure(size * across + 0.9, size * rows + 0.3, rows, across)
    for axis, (title, columns) in zip(axes.flat, panels.items(), strict=False):
        numbers = [column.values for column in columns.values() if isinstance(column, NumericColumn)]
        image = axis.imshow(correlations(numbers), vmin=-1, vmax=1, cmap="PuOr")
        axis.set_title(title, fontsize=9)
        axis.set_xticks(range(0, len(names), every), named, rotation=90, fontsize=6.5)
        axis.set_yticks(range(0, len(names), every), named, fontsize=6.5)
        axis.spines[:].set_visible(False)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    bar = figure.colorbar(image, ax=list(axes.flat), shrink=0.8, pad=0.02)
    bar.set_label("Pearson correlation", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure
