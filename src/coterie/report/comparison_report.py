"""Everything a comparison leaves behind: results, figures and the page, in one folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import Cell
from coterie.evaluation.measure import Pair, Settings, bring_together
from coterie.methods.guarantee import Status
from coterie.publication.staging import stage, stage_bytes
from coterie.report.charts import Figure, risk_utility_map
from coterie.report.comparison_figures import error_by_k, error_heatmaps
from coterie.report.examples import example_releases, risk_points, shown
from coterie.report.html_report import render_report
from coterie.report.ranking import UNITS, Best, best_cells, common_yardstick, is_synthetic, yardstick
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
        figures["risk-utility"] = _risk_map(said, UNITS[common_yardstick(comparison)])
    results = comparison.results
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, table in (
        ("results.parquet", results.by_run()),
        ("results.csv", results.by_run()),
        ("attributes.parquet", results.by_attribute()),
    ):
        stage(table, folder / name, force=True).publish()
    for name in FIGURES - figures.keys():  # of an earlier grid, perhaps of other data
        for ending in (".png", ".svg"):
            (folder / "figures" / f"{name}{ending}").unlink(missing_ok=True)
    for name, figure in figures.items():
        for ending in (".png", ".svg"):
            path = folder / "figures" / f"{name}{ending}"
            stage_bytes(figure.written_as(path), path, force=True).publish()
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
) -> dict[str, Figure]:
    linked = [name for name in comparison.grid.methods if not is_synthetic(name)]
    measured = linked or list(comparison.grid.methods)
    measure = yardstick(comparison, measured[0])
    made: dict[str, Figure | None] = {
        "error-by-k": error_by_k(
            comparison,
            measure,
            measured,
            title="Error against k",
            caption="Mean over runs; the band runs from the luckiest to the unluckiest run. Methods that group nobody "
            "are horizontal lines.",
        ),
        "error-heatmap": error_heatmaps(
            comparison,
            measure,
            measured,
            title="Error over ε and k",
            caption="The same numbers, one panel per method, all on one colour scale.",
        ),
    }
    if linked and len(linked) < len(comparison.grid.methods) and "sse-matched" in comparison.results.values:
        made["distribution-error-by-k"] = error_by_k(
            comparison,
            "sse-matched",
            list(comparison.grid.methods),
            title="Error of the distributions against k",
            caption="Values matched by rank instead of by row, the one yardstick that synthetic rows share with the "
            "others.",
        )
    original = next(iter(pairs.values())).original
    # Whatever has to stay out, the choice that the verdict names is drawn.
    few = sorted(pairs.items(), key=lambda entry: entry[0] != said.top.cell)[:MOST_PANELS]
    drawn = {shown(cell): pair.released for cell, pair in few}
    left_out = [shown(cell) for cell in pairs if shown(cell) not in drawn]
    rest = f" Not drawn, for want of room: {'; '.join(left_out)}." if left_out else ""
    lines = {shown(cell): pairs[cell].released for cell in _contrast(best, pairs, said.top.cell)}
    made["distributions"] = distributions(
        original,
        lines,
        title="Attributes before and after",
        caption=f"Filled: the original. Outlined: an example release at the largest ε of {' and of '.join(lines)}. "
        "Values beyond the shown range are counted in the first and the last bar.",
    )
    made["correlations"] = correlation_matrices(
        original,
        drawn,
        title="Correlations before and after",
        caption="One example release of each method at the largest ε. Orange is negative, purple positive. A release "
        f"whose panel looks like the first keeps relations between attributes.{rest}",
    )
    return {name: figure for name, figure in made.items() if figure is not None}


def _contrast(best: list[Best], pairs: dict[Cell, Pair], top: Cell) -> list[Cell]:
    """The choice of the verdict, and beside it the best that has a proof of privacy; without one, the next best."""
    others = [entry for entry in best if entry.cell in pairs and entry.cell != top]
    proved = [e for e in others if e.rests_on_noise and e.guarantee.status is Status.PROVED]
    second = min(proved or others, key=lambda entry: entry.error, default=None)
    return [top] if second is None else [top, second.cell]


def _risk_map(said: Verdict, loss: str) -> Figure:
    """Every example release attacked: what an attacker gains against what the release loses."""
    return risk_utility_map(
        said.attacked,
        loss=f"{loss}: smaller is better",
        title="Risk and utility in one picture",
        caption="Down and left is better. The height is how much better than guessing the best attack was, with its "
        "interval; a star is a method whose promise is proved. A low point without a star was only not attacked "
        "successfully here.",
    )
