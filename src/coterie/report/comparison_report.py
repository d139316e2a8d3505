"""Everything a comparison leaves behind: results, figures and the page, in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.compare.comparison import Comparison
from coterie.compare.grid import Cell
from coterie.io.publication import stage, stage_bytes
from coterie.methods import get_method
from coterie.release import Release, protect
from coterie.report.comparison_figures import error_by_k, error_heatmaps
from coterie.report.html_report import Figure, render_report
from coterie.report.ranking import Best, best_cells, is_synthetic, yardstick
from coterie.report.style import as_png
from coterie.report.table_figures import correlation_matrices, distributions
from coterie.report.verdict import Verdict, verdict
from coterie.utility import all_measures
from coterie.utility.measure import Settings
from coterie.utility.pair import Pair, bring_together

MOST_EXAMPLES = 5  # releases drawn over one another in a figure


def write_comparison(
    comparison: Comparison,
    data: pa.Table,
    folder: Path,
    *,
    title: str,
    sample: str | None = None,
    settings: Settings | None = None,
) -> Verdict:
    """Write results.parquet, results.csv, attributes.parquet, figures/ and report.html; return the verdict."""
    best = best_cells(comparison)
    said = verdict(comparison, best)
    examples = _examples(comparison, best, data)
    pairs = {
        cell: bring_together(data, release.table, comparison.schema) for cell, release in examples.items()
    }
    figures = _figures(comparison, pairs)
    results = comparison.results
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, table in (
        ("results.parquet", results.by_run()),
        ("results.csv", results.by_run()),
        ("attributes.parquet", results.by_attribute()),
    ):
        stage(table, folder / name, force=True).publish()
    for figure in figures:
        stage_bytes(figure.png, folder / "figures" / f"{figure.name}.png", force=True).publish()
    top = said.top.cell
    page = render_report(
        comparison,
        said,
        best,
        figures,
        title=title,
        certificate=examples[top].certificate.to_json() if top in examples else None,
        certificate_of=_shown(top),
        sample=sample,
        extra_measures={
            _shown(cell): _row_measures(cell, pair, settings or Settings()) for cell, pair in pairs.items()
        },
    )
    stage_bytes(page.encode(), folder / "report.html", force=True).publish()
    return said


def _examples(comparison: Comparison, best: list[Best], data: pa.Table) -> dict[Cell, Release]:
    """One seeded release of each method: its best k at the largest ε, drawn as run 0 of that cell."""
    largest = comparison.grid.epsilons[-1]
    cells = [entry.cell for entry in best if entry.cell.epsilon == largest]
    return {
        cell: protect(
            data,
            comparison.schema,
            method=cell.method,
            epsilon=cell.epsilon,
            k=None if get_method(cell.method).fixed_k else cell.k,
            seed=comparison.grid.seed,
        )
        for cell in cells
    }


def _figures(comparison: Comparison, pairs: dict[Cell, Pair]) -> list[Figure]:
    linked = [name for name in comparison.grid.methods if not is_synthetic(name)]
    measured = linked or list(comparison.grid.methods)
    measure = yardstick(comparison, measured[0])
    made: list[tuple[str, str, str, Any]] = [
        (
            "error-by-k",
            "Error against k",
            "Mean over runs; the band runs from the luckiest to the unluckiest run. Methods that group nobody are "
            "horizontal lines. A squared error above 1 is no better than publishing each attribute's mean.",
            error_by_k(comparison, measure, measured),
        ),
        (
            "error-heatmap",
            "Error over ε and k",
            "The same numbers, one panel a method, all on one colour scale: dark is good.",
            error_heatmaps(comparison, measure, measured),
        ),
    ]
    if linked and len(linked) < len(comparison.grid.methods) and "sse-matched" in comparison.results.values:
        made.append(
            (
                "distribution-error-by-k",
                "Error of the distributions against k",
                "Values matched by rank instead of by row, the one yardstick that synthetic rows share with the others.",
                error_by_k(comparison, "sse-matched", list(comparison.grid.methods)),
            )
        )
    shown = dict(list(pairs.items())[:MOST_EXAMPLES])
    original = next(iter(pairs.values())).original
    drawn = {_shown(cell): pair.released for cell, pair in shown.items()}
    made += [
        (
            "distributions",
            "Attributes before and after",
            "Example releases at the largest ε and each method's best k. Values beyond the shown range (the upper "
            "half percent) are counted in the last bar.",
            distributions(original, drawn),
        ),
        (
            "correlations",
            "Correlations before and after",
            "Orange is negative, purple positive. A release whose panel looks like the first keeps relations between "
            "attributes.",
            correlation_matrices(original, drawn),
        ),
    ]
    return [
        Figure(name, title, caption, as_png(figure))
        for name, title, caption, figure in made
        if figure is not None
    ]


def _row_measures(cell: Cell, pair: Pair, settings: Settings) -> dict[str, float | None]:
    """The measures that no cell can give, because they look at several attributes of a row at once."""
    found: dict[str, float | None] = {}
    for measure in all_measures().values():
        if measure.table is None or (measure.name == "classification" and settings.target is None):
            continue
        unlinked = measure.needs_linkage and is_synthetic(cell.method)
        found[measure.name] = None if unlinked else measure.compute(pair, settings).value
    return found


def _shown(cell: Cell) -> str:
    return f"{cell.method}, k = {cell.k}" if cell.k > 1 else cell.method
