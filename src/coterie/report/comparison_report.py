"""Everything a comparison leaves behind: results, figures and the page, in one folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import Cell
from coterie.evaluation.measure import Settings
from coterie.evaluation.pair import Pair, bring_together
from coterie.methods.guarantee import Status
from coterie.publication.staging import stage, stage_bytes
from coterie.report.audit_map import risk_utility_map
from coterie.report.comparison_figures import error_by_k, error_heatmaps
from coterie.report.examples import example_releases, risk_points, shown
from coterie.report.html_report import Figure, render_report
from coterie.report.ranking import UNITS, Best, best_cells, common_yardstick, is_synthetic, yardstick
from coterie.report.style import as_png
from coterie.report.table_figures import correlation_matrices, distributions
from coterie.report.verdict import Verdict, verdict
from coterie.report.whole_rows import whole_rows

FIGURES = {
    "error-by-k",
    "error-heatmap",
    "distribution-error-by-k",
    "distributions",
    "correlations",
    "risk-utility",
}
MOST_PANELS = 5  # correlation matrices of releases, beside the original's


def write_comparison(
    comparison: Comparison,
    data: pa.Table,
    folder: Path,
    *,
    title: str,
    sample: str | None = None,
    settings: Settings | None = None,
    audit_seconds: float | None = None,
) -> Verdict:
    """Write results.parquet, results.csv, attributes.parquet, figures/ and report.html; return the verdict.

    With `audit_seconds` the example releases are attacked for so long in all, and a map shows risk beside utility.
    """
    best = best_cells(comparison)
    said = verdict(comparison, best, sample)
    examples = example_releases(comparison, best, data)
    pairs = {
        cell: bring_together(data, release.table, comparison.schema) for cell, release in examples.items()
    }
    figures = _figures(comparison, best, pairs, said)
    if audit_seconds is not None:
        points = risk_points(comparison, best, examples, data, audit_seconds)
        said = replace(said, attacked=tuple(points))
        figures.append(_risk_map(said, UNITS[common_yardstick(comparison)]))
    results = comparison.results
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, table in (
        ("results.parquet", results.by_run()),
        ("results.csv", results.by_run()),
        ("attributes.parquet", results.by_attribute()),
    ):
        stage(table, folder / name, force=True).publish()
    for name in FIGURES - {figure.name for figure in figures}:  # of an earlier grid, perhaps of other data
        (folder / "figures" / f"{name}.png").unlink(missing_ok=True)
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
        certificate_of=shown(top),
        sample=sample,
        extra_measures=whole_rows(pairs, settings or Settings()),
    )
    stage_bytes(page.encode(), folder / "report.html", force=True).publish()
    return said


def _figures(
    comparison: Comparison, best: list[Best], pairs: dict[Cell, Pair], said: Verdict
) -> list[Figure]:
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
    original = next(iter(pairs.values())).original
    # Whatever has to stay out, the choice that the verdict names is drawn.
    few = sorted(pairs.items(), key=lambda entry: entry[0] != said.top.cell)[:MOST_PANELS]
    drawn = {shown(cell): pair.released for cell, pair in few}
    left_out = [shown(cell) for cell in pairs if shown(cell) not in drawn]
    rest = f" Not drawn, for want of room: {'; '.join(left_out)}." if left_out else ""
    lines = {shown(cell): pairs[cell].released for cell in _contrast(best, pairs, said.top.cell)}
    made += [
        (
            "distributions",
            "Attributes before and after",
            f"Grey: the original. Lines: an example release at the largest ε of {' and of '.join(lines)}. Values beyond the "
            "shown range are counted in the first and the last bar.",
            distributions(original, lines),
        ),
        (
            "correlations",
            "Correlations before and after",
            "One example release of each method at the largest ε. Orange is negative, purple positive. A release whose "
            f"panel looks like the first keeps relations between attributes.{rest}",
            correlation_matrices(original, drawn),
        ),
    ]
    return [
        Figure(name, title, caption, as_png(figure))
        for name, title, caption, figure in made
        if figure is not None
    ]


def _contrast(best: list[Best], pairs: dict[Cell, Pair], top: Cell) -> list[Cell]:
    """The choice of the verdict, and beside it the best that has a proof of privacy; without one, the next best."""
    others = [entry for entry in best if entry.cell in pairs and entry.cell != top]
    proved = [e for e in others if e.rests_on_noise and e.guarantee.status is Status.PROVED]
    second = min(proved or others, key=lambda entry: entry.error, default=None)
    return [top] if second is None else [top, second.cell]


def _risk_map(said: Verdict, loss: str) -> Figure:
    """Every example release attacked: what an attacker gains against what the release loses."""
    return Figure(
        "risk-utility",
        "Risk and utility in one picture",
        "Down and left is better. The height is the most that any attack gained over guessing, with its interval; a star "
        "is a method whose promise is proved. A low point without a star was only not attacked successfully here.",
        as_png(risk_utility_map(said.attacked, loss_label=f"{loss}: smaller is better")),
    )
