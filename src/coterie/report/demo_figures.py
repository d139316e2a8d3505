"""The two figures of `coterie demo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.report.style import COLOURS, INK, STATUS_COLOUR, STATUS_HATCH, new_figure
from coterie.schema.attributes import AttributeType, Schema


def utility_by_method(
    errors: Mapping[str, float], statuses: Mapping[str, str], models: Mapping[str, str], caption: str
) -> Any:
    """Horizontal bars, one a method: the error, coloured and hatched by what the method promises."""
    figure, axes = new_figure(7.5, 0.45 * len(errors) + 1.5)
    axis = axes[0, 0]
    names = list(errors)[::-1]
    for place, name in enumerate(names):
        status = statuses[name]
        axis.barh(
            place, errors[name], color=STATUS_COLOUR[status], hatch=STATUS_HATCH[status], edgecolor="white"
        )
        promise = f"{status}: {models[name]}" if status != "none" else "none"
        axis.annotate(
            f" {errors[name]:.3g}  ({promise})", (errors[name], place), va="center", fontsize=8, color=INK
        )
    axis.set_yticks(range(len(names)), names)
    axis.set_xscale("log")
    axis.margins(x=0.25)
    axis.set_xlabel("mean squared error, in units of each attribute's variance (log scale)")
    axis.set_title(f"What each method costs\n{caption}", fontsize=10)
    return figure


def distributions(original: pa.Table, releases: Mapping[str, pa.Table], schema: Schema, caption: str) -> Any:
    """One panel an attribute: the original as a filled histogram, each release as a line."""
    attributes = schema.protected
    columns = 4
    rows = -(-len(attributes) // columns)
    figure, axes = new_figure(3.1 * columns, 2.5 * rows + 0.6, rows, columns)
    for axis, attribute in zip(axes.flat, attributes, strict=False):
        values = original.column(attribute.name).to_numpy()
        edges = _edges(values, whole=attribute.type is AttributeType.INTEGER)
        axis.hist(np.clip(values, edges[0], edges[-1]), edges, color="#cccccc", label="original")
        for colour, (name, table) in zip(COLOURS, releases.items(), strict=False):
            released = np.clip(table.column(attribute.name).to_numpy(), edges[0], edges[-1])
            axis.hist(released, edges, histtype="step", color=colour, label=name, linewidth=1.2)
        axis.set_yscale("log")
        axis.locator_params(axis="x", nbins=4)
        axis.set_xlabel(f"{attribute.name} ({attribute.unit})", fontsize=8)
        axis.set_ylabel("people (log scale)", fontsize=8)
    for axis in list(axes.flat)[len(attributes) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)
    figure.suptitle(
        f"Attributes before and after\n{caption}; the last bar holds everything beyond", fontsize=10
    )
    return figure


def _edges(values: NDArray[np.float64], *, whole: bool) -> NDArray[np.float64]:
    """About forty bins up to the 99th percentile; whole numbers are never cut."""
    low, high = float(values.min()), float(np.quantile(values, 0.99))
    if not whole:
        return np.linspace(low, high, 41)
    width = max(1, round((high - low) / 40))
    return np.arange(low - 0.5, high + width + 0.5, width)
