"""Attributes and correlations before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.report.style import COLOURS, new_figure
from coterie.schema import Attribute
from coterie.utility.correlation_error import correlations

Floats = NDArray[np.float64]


def distributions(
    attributes: tuple[Attribute, ...], original: Mapping[str, Floats], releases: Mapping[str, Mapping[str, Floats]]
) -> Any:
    """One panel an attribute: the original as filled grey, each release as a line."""
    columns = min(3, len(attributes))
    rows = -(-len(attributes) // columns)
    figure, axes = new_figure(3.9 * columns, 2.5 * rows + 0.5, rows, columns)
    for axis, attribute in zip(axes.flat, attributes, strict=False):
        values = original[attribute.name]
        low, high = float(values.min()), float(np.quantile(values, 0.995))
        edges = np.linspace(low, high if high > low else low + 1, 41)
        clipped = {name: np.clip(table[attribute.name], edges[0], edges[-1]) for name, table in releases.items()}
        axis.hist(np.clip(values, edges[0], edges[-1]), edges, color="#cccccc", label="original")
        for place, (name, released) in enumerate(clipped.items()):
            axis.hist(released, edges, histtype="step", color=COLOURS[place % len(COLOURS)], label=name, linewidth=1.3,
                      linestyle=("-", "--", "-.", ":")[place % 4])
        axis.set_yscale("log")
        unit = f" ({attribute.unit})" if attribute.unit else ""
        axis.set_xlabel(f"{attribute.name}{unit}", fontsize=8)
        axis.set_ylabel("records (log scale)", fontsize=8)
    for axis in list(axes.flat)[len(attributes) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)), fontsize=8, frameon=False)
    return figure


def correlation_matrices(
    names: list[str], original: Mapping[str, Floats], releases: Mapping[str, Mapping[str, Floats]]
) -> Any | None:
    """The correlation matrix of the original and of each release, on one colour scale."""
    if len(names) < 2:
        return None
    panels = {"original": original, **releases}
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    size = max(2.6, 1.2 + 0.22 * len(names))
    figure, axes = new_figure(size * columns + 0.9, size * rows + 0.3, rows, columns)
    for axis, (title, table) in zip(axes.flat, panels.items(), strict=False):
        image = axis.imshow(correlations([table[name] for name in names]), vmin=-1, vmax=1, cmap="PuOr")
        axis.set_title(title, fontsize=9)
        axis.set_xticks(range(len(names)), names, rotation=90, fontsize=6.5)
        axis.set_yticks(range(len(names)), names, fontsize=6.5)
        axis.spines[:].set_visible(False)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    bar = figure.colorbar(image, ax=list(axes.flat), shrink=0.8, pad=0.02)
    bar.set_label("Pearson correlation", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure
