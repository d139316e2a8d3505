"""The figures of a comparison: error against k, and error over ε × k."""

from __future__ import annotations

import math

import numpy as np

from coterie.comparison.comparison import Comparison
from coterie.report.charts import Figure, Grid, Lines, Series, heatmap, lines
from coterie.report.ranking import MEAN_LEVEL, UNITS, errors_by
from coterie.schema.exact import as_text

GROUP_SIZE = "k (records per group)"


def error_by_k(
    comparison: Comparison, measure: str, methods: list[str], *, title: str, caption: str
) -> Figure:
    """One panel per ε; methods without k are horizontal lines; bands run from the luckiest to the unluckiest run."""
    errors = errors_by(comparison, measure)
    ks = sorted({cell.k for cell in comparison.results.cells if cell.method in methods and cell.k > 1})
    panels = []
    for epsilon in comparison.epsilons:
        series = []
        for method in methods:
            cells = [c for c in comparison.results.cells if (c.method, c.epsilon) == (method, epsilon)]
            runs = [errors[cell] for cell in cells]
            if not cells:
                continue
            points = [(float(cell.k), float(run.mean())) for cell, run in zip(cells, runs, strict=True)]
            band = [(float(run.min()), float(run.max())) for run in runs] if len(cells) > 1 else []
            series.append(Series(method, points, comparison.grid.methods.index(method), band=band))
        panels.append(Lines(f"ε = {as_text(epsilon)}", series))
    return lines(
        panels,
        x=GROUP_SIZE,
        y=UNITS[measure],
        caption=caption,
        log_x=len(ks) > 1 and ks[-1] / ks[0] >= 10,
        level=MEAN_LEVEL if measure.startswith("sse") else None,
        ticks=ks,
        title=title,
    )


def error_heatmaps(
    comparison: Comparison, measure: str, methods: list[str], *, title: str, caption: str
) -> Figure | None:
    """One panel per method with k: rows ε, columns k, the error written into each field."""
    errors = {cell: float(runs.mean()) for cell, runs in errors_by(comparison, measure).items()}
    grouped = [m for m in methods if any(c.method == m and c.k > 1 for c in comparison.results.cells)]
    ks = [k for k in comparison.grid.ks if any(cell.k == k for cell in comparison.results.cells)]
    if not grouped or not ks:
        return None
    epsilons = comparison.epsilons
    grids = []
    for method in grouped:
        values = np.full((len(epsilons), len(ks)), math.nan)
        for cell in comparison.results.cells:
            if cell.method == method and cell.k in ks:
                values[epsilons.index(cell.epsilon), ks.index(cell.k)] = errors[cell]
        grids.append(Grid(method, [as_text(e) for e in epsilons], [str(k) for k in ks], values.tolist()))
    return heatmap(grids, row="ε", column=GROUP_SIZE, value=UNITS[measure], caption=caption, title=title)
