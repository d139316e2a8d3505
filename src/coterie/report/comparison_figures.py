"""The figures of a comparison: error against k, and error over ε × k."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.comparison.comparison import Comparison
from coterie.report.ranking import UNITS, errors_by, readable
from coterie.report.style import COLOURS, INK, new_figure, plain_log
from coterie.schema.exact import as_text

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
DASHES = ("-", "--", "-.", ":")


def method_look(methods: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dash together, so that lines can be told apart without colour."""
    return {
        name: {
            "color": COLOURS[place % len(COLOURS)],
            "marker": MARKERS[place % len(MARKERS)],
            "linestyle": DASHES[place % len(DASHES)],
        }
        for place, name in enumerate(methods)
    }


def labelled_ks(ks: list[int], *, log: bool, room: float = 0.07) -> list[int]:
    """The k that were run, without those whose number would touch a neighbour's; both ends stay."""
    if len(ks) < 3:
        return ks
    places = np.log(ks) if log else np.array(ks, dtype=np.float64)
    places = (places - places[0]) / (places[-1] - places[0])
    shown = [0]
    for place in range(1, len(ks) - 1):
        if places[place] - places[shown[-1]] >= room and 1 - places[place] >= room:
            shown.append(place)
    return [ks[place] for place in [*shown, len(ks) - 1]]


def error_by_k(comparison: Comparison, measure: str, methods: list[str]) -> Any:
    """One panel an ε; methods without k are horizontal lines; bands run from the luckiest to the unluckiest run."""
    errors = errors_by(comparison, measure)
    epsilons = comparison.epsilons
    ks = sorted({cell.k for cell in comparison.results.cells if cell.method in methods and cell.k > 1})
    columns = min(3, len(epsilons))
    rows = -(-len(epsilons) // columns)
    # As wide as the page at most: a wider figure would be shrunk to it, its letters too.
    width = min(4.1 * columns + 0.6, 9.6)
    figure, axes = new_figure(width, 3.0 * rows + 0.5, rows, columns)
    look = method_look(comparison.grid.methods)
    for axis, epsilon in zip(axes.flat, epsilons, strict=False):
        for method in methods:
            cells = [c for c in comparison.results.cells if (c.method, c.epsilon) == (method, epsilon)]
            if not cells:
                continue
            style = look[method]
            runs = np.array([errors[cell] for cell in cells])
            if len(cells) == 1 and cells[0].k == 1:
                axis.axhline(float(runs.mean()), label=method, **{**style, "marker": ""})
            else:
                places = [cell.k for cell in cells]
                axis.plot(places, runs.mean(axis=1), label=method, markersize=4, linewidth=1.3, **style)
                axis.fill_between(
                    places, runs.min(axis=1), runs.max(axis=1), color=style["color"], alpha=0.15
                )
        if measure.startswith("sse"):
            axis.axhline(1, color=INK, linewidth=0.7)
            # In the margin: inside, a curve that crosses 1 would strike the words through.
            axis.annotate(
                "1: publishing\nthe mean",
                (1.015, 1),
                xycoords=("axes fraction", "data"),
                fontsize=6.5,
                ha="left",
                va="center",
                annotation_clip=False,
            )
        axis.set_yscale("log")
        plain_log(axis.yaxis, *axis.get_ylim())
        log = len(ks) > 1 and ks[-1] / ks[0] >= 10
        if log:
            axis.set_xscale("log")
        shown = labelled_ks(ks, log=log)
        axis.set_xticks(shown, [str(k) for k in shown], fontsize=7)
        axis.set_xticks([], minor=True)  # the powers of ten between them were never run
        axis.set_title(f"ε = {as_text(epsilon)}", fontsize=10)
        axis.set_xlabel("k (records a group)", fontsize=8)
    for first in axes[:, 0]:
        first.set_ylabel(f"{_in_two_lines(UNITS[measure])}, log scale", fontsize=8)
    for axis in list(axes.flat)[len(epsilons) :]:
        axis.set_visible(False)
    # The largest ε has every method; a smaller one may be too small for some.
    handles, labels = axes.flat[len(epsilons) - 1].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(int(width / 1.5), len(labels)),  # inches that the longest name takes
        fontsize=8,
        frameon=False,
    )
    return figure


def error_heatmaps(comparison: Comparison, measure: str, methods: list[str]) -> Any | None:
    """One panel a method with k: rows ε, columns k, the error written into each field."""
    from matplotlib.colors import LogNorm

    errors = {cell: float(runs.mean()) for cell, runs in errors_by(comparison, measure).items()}
    grouped = [m for m in methods if any(c.method == m and c.k > 1 for c in comparison.results.cells)]
    ks = [k for k in comparison.grid.ks if any(cell.k == k for cell in comparison.results.cells)]
    if not grouped or not ks:
        return None
    positive = [errors[c] for c in comparison.results.cells if c.method in grouped and errors[c] > 0] or [1.0]
    low, high = min(positive), max(max(positive), 1.0001 * min(positive))
    epsilons = comparison.epsilons
    height = 0.62 + 0.3 * len(epsilons)
    across = 2 if len(grouped) > 3 and len(ks) <= 8 else 1  # many small panels stand side by side
    rows = -(-len(grouped) // across)
    width = 9.0 if across == 2 else min(max(5.0, 2.4 + 0.55 * len(ks)), 9.5)
    room = (width / across - 2) / len(ks) > 0.28  # inches that a number takes
    figure, axes = new_figure(width, max(height * rows + 0.5, 2.4), rows, across)  # the bar's label is 2 high
    for axis, method in zip(axes.flat, grouped, strict=False):
        values = np.full((len(epsilons), len(ks)), np.nan)
        for cell in comparison.results.cells:
            if cell.method == method and cell.k in ks:
                values[epsilons.index(cell.epsilon), ks.index(cell.k)] = errors[cell]
        image = axis.imshow(np.maximum(values, low), norm=LogNorm(low, high), cmap="cividis", aspect="auto")
        for row, column in np.ndindex(values.shape if room else (0, 0)):
            value = values[row, column]
            said = "–" if np.isnan(value) else readable(float(f"{value:.2g}"))
            dark = value < np.sqrt(low * high)
            axis.annotate(
                said, (column, row), ha="center", va="center", fontsize=6, color="white" if dark else "black"
            )
        named = ks if room else labelled_ks(ks, log=False)
        axis.set_xticks([ks.index(k) for k in named], [str(k) for k in named], fontsize=7)
        axis.set_yticks(range(len(epsilons)), [as_text(epsilon) for epsilon in epsilons], fontsize=7)
        axis.set_ylabel("ε", fontsize=8)
        axis.set_title(method, fontsize=9, loc="left")
        axis.spines[:].set_visible(False)
    for axis in list(axes.flat)[len(grouped) :]:
        axis.set_visible(False)
    for axis in list(axes.flat)[len(grouped) - across : len(grouped)]:
        axis.set_xlabel("k (records a group)", fontsize=8)
    bar = figure.colorbar(image, ax=list(axes.flat), shrink=0.9, pad=0.02, aspect=max(20, 8 * height * rows))
    bar.set_label(f"{_in_two_lines(UNITS[measure])}, log scale", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    plain_log(bar.ax.yaxis, low, high)
    return figure


def _in_two_lines(unit: str) -> str:
    """In one it would be longer than a low axis is high."""
    return unit.replace(" (", "\n(")
