"""Figures as the papers draw them: lines over k, a panel a setting; and heatmaps over ε × k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.report.style import COLOURS, new_figure

Floats = NDArray[np.float64]
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True, slots=True)
class Line:
    """`look` chooses the colour, `dash` the line: methods by colour, ε by dash."""

    label: str
    values: Floats
    look: int
    dash: int = 0
    flat: bool = False  # a baseline that does not depend on k: no markers


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    ylabel: str
    ks: Sequence[int]
    lines: list[Line] = field(default_factory=list)
    log: bool = True


def line_panels(panels: Sequence[Panel], columns: int, title: str) -> Any:
    rows = -(-len(panels) // columns)
    figure, axes = new_figure(4.6 * columns, 3.1 * rows + 0.9, rows, columns)
    shown: dict[str, Any] = {}
    for axis, panel in zip(axes.flat, panels, strict=False):
        for line in panel.lines:
            (handle,) = axis.plot(
                panel.ks,
                line.values,
                color=COLOURS[line.look % len(COLOURS)],
                linestyle=DASHES[line.dash % len(DASHES)],
                marker="" if line.flat else MARKERS[line.look % len(MARKERS)],
                markersize=3,
                linewidth=1.0 if line.flat else 1.4,
                alpha=0.7 if line.flat else 1,
            )
            shown.setdefault(line.label, handle)
        if panel.log:
            axis.set_yscale("log")
            axis.tick_params(axis="y", which="both", labelsize=7)
        axis.set_title(panel.title, fontsize=9)
        axis.set_xlabel("k (records a group)", fontsize=8)
        axis.set_ylabel(panel.ylabel, fontsize=8)
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    figure.legend(
        shown.values(),
        shown,
        loc="outside lower center",
        ncols=min(2 * columns, len(shown)),  # as many as the width has room for
        fontsize=8,
        frameon=False,
    )
    figure.suptitle(title, fontsize=10)
    return figure


def heatmaps(
    panels: Sequence[tuple[str, Sequence[int], Floats]],
    epsilons: Sequence[str],
    label: str,
    title: str,
    *,
    log: bool,
) -> Any:
    """Panels of (name, ks, values): rows k, columns ε, as in Del Vasto-Terrientes et al.; the values are written into
    the fields."""
    from matplotlib.colors import LogNorm, Normalize

    figure, axes = new_figure(
        0.75 * len(epsilons) * len(panels) + 2.5, 0.36 * len(panels[0][1]) + 1.6, 1, len(panels)
    )
    for axis, (name, ks, values) in zip(axes.flat, panels, strict=True):
        norm = LogNorm(values.min(), values.max()) if log else Normalize(values.min(), values.max())
        image = axis.imshow(values, norm=norm, cmap="cividis", aspect="auto")
        for row, column in np.ndindex(values.shape):
            light = norm(values[row, column]) > 0.55
            axis.annotate(
                f"{values[row, column]:.3g}",
                (column, row),
                ha="center",
                va="center",
                fontsize=6.5,
                color="black" if light else "white",
            )
        axis.set_xticks(range(len(epsilons)), epsilons)
        axis.set_yticks(range(len(ks)), [str(k) for k in ks])
        axis.set_xlabel("ε", fontsize=8)
        axis.set_ylabel("k (records a group)", fontsize=8)
        axis.set_title(name, fontsize=9)
        axis.spines[:].set_visible(False)
        bar = figure.colorbar(image, ax=axis, shrink=0.9)
        bar.set_label(label, fontsize=8)
        bar.ax.tick_params(labelsize=7)
        bar.ax.yaxis.get_offset_text().set_fontsize(7)
    figure.suptitle(title, fontsize=10)
    return figure
