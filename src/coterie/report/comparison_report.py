"""Everything a comparison leaves behind: results, figures and the page (one file, no network), in one folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from coterie._version import __version__
from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import Cell, left_out
from coterie.evaluation import get_measure
from coterie.evaluation.measure import MeasureResult
from coterie.evaluation.pair import Pair, bring_together
from coterie.methods import get_method
from coterie.methods.guarantee import Status, beside_in_words
from coterie.publication.staging import stage, stage_bytes
from coterie.report.charts import Figure, RiskPoint, risk_utility_map
from coterie.report.charts.figure import page, page_style
from coterie.report.examples import ORIGINAL, example_releases, risk_points, shown, whole_rows
from coterie.report.figures import correlation_matrices, distributions, error_by_k, error_heatmaps
from coterie.report.ranking import (
    GROUPS,
    UNITS,
    Best,
    Verdict,
    best_cells,
    is_synthetic,
    key_to_errors,
    verdict,
    yardstick,
)
from coterie.report.rendering import rendered
from coterie.schema.exact import as_text, number

FIGURES = {"error-by-k", "error-heatmap", "distributions", "correlations", "risk-utility"}
MOST_PANELS = 5  # correlation matrices of releases, beside the original's


def write_comparison(
    comparison: Comparison,
    data: pa.Table,
    folder: Path,
    audit_seconds: float | None = None,
    accept: Collection[str] = (),
) -> Verdict:
    """Write results.parquet, results.csv, attributes.parquet, figures/ and report.html; return the verdict.

    With `audit_seconds` the example releases are attacked for so long in all, and a map shows risk beside utility.
    """
    best = best_cells(comparison)
    said = verdict(comparison, best, comparison.sample, accept)
    examples = example_releases(comparison, best, data)
    pairs = {
        cell: bring_together(data, release.table, comparison.schema, shuffled=is_synthetic(cell.method))
        for cell, release in examples.items()
    }
    rows = whole_rows(pairs, comparison.settings)
    said = replace(said, relations=_relations(rows))
    figures = _figures(comparison, best, pairs, said)
    if audit_seconds is not None:
        points = risk_points(comparison, best, examples, data, audit_seconds)
        said = replace(said, attacked=tuple(points))
        figures["risk-utility"] = _risk_map(points, UNITS[yardstick(comparison)])
    results = comparison.results
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, table in (
        ("results.parquet", results.by_run()),
        ("results.csv", results.by_run()),
        ("attributes.parquet", results.by_attribute()),
    ):
        stage(table, folder / name, force=True).publish()
    for name in FIGURES | figures.keys():
        for ending in (".png", ".svg"):
            path = folder / "figures" / f"{name}{ending}"
            if name in figures:
                stage_bytes(figures[name].written_as(path), path, force=True).publish()
            else:  # of an earlier grid, perhaps of other data
                path.unlink(missing_ok=True)
    example = examples.get(said.top.cell)
    certificate = example.certificate.to_json() if example else None
    content = _page(comparison, said, best, figures, certificate, rows)
    stage_bytes(content.encode(), folder / "report.html", force=True).publish()
    return said


def _figures(
    comparison: Comparison, best: list[Best], pairs: dict[Cell, Pair], said: Verdict
) -> dict[str, Figure]:
    measure, methods = yardstick(comparison), list(comparison.grid.methods)
    made: dict[str, Figure | None] = {
        "error-by-k": error_by_k(
            comparison,
            measure,
            methods,
            title="Error against k",
            caption="Mean over runs; the band runs from the luckiest to the unluckiest run. Methods that group nobody "
            "are horizontal lines.",
        ),
        "error-heatmap": error_heatmaps(
            comparison,
            measure,
            methods,
            title="Error over ε and k",
            caption="The same numbers, one panel per method, all on one colour scale.",
        ),
    }
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


def _relations(rows: Mapping[str, Mapping[str, MeasureResult]]) -> dict[str, str]:
    """What is left of relations, by example release."""
    measure = get_measure("associations")
    return {
        name: measure.word(found.value)
        for name, line in rows.items()
        if name != ORIGINAL and (found := line["associations"]).value is not None
    }


def _contrast(best: list[Best], pairs: dict[Cell, Pair], top: Cell) -> list[Cell]:
    """The choice of the verdict, and beside it the best that has a proof of privacy; without one, the next best."""
    others = [entry for entry in best if entry.cell in pairs and entry.cell != top]
    proved = [e for e in others if e.rests_on_noise and e.guarantee.status is Status.PROVED]
    second = min(proved or others, key=lambda entry: entry.error, default=None)
    return [top] if second is None else [top, second.cell]


def _risk_map(points: Sequence[RiskPoint], loss: str) -> Figure:
    """Every example release attacked: what an attacker gains against what the release loses."""
    return risk_utility_map(
        points,
        loss=f"{loss}: smaller is better",
        title="Risk and utility in one picture",
        caption="Down and left is better. The height is how far the best attack is above its baseline, with its "
        "interval; a fifth of the records was held back as control group. A star is a method whose promise is proved. A low "
        "point without a star was only not attacked successfully here.",
    )


def _page(
    comparison: Comparison,
    verdict: Verdict,
    best: list[Best],
    figures: Mapping[str, Figure],
    certificate: str | None,
    extra: Mapping[str, Mapping[str, MeasureResult]],
) -> str:
    """report.html: one file, no network, the verdict first."""
    title = f"Comparison on {comparison.name}"
    body = rendered(
        "report.html.j2",
        "The HTML report",
        {"number": number, "exact": as_text, "recipe": get_method, "beside": beside_in_words},
        title=title,
        version=__version__,
        issued=f"{datetime.now(UTC):%d %B %Y, %H:%M} UTC",
        comparison=comparison,
        recoded={a.name: a.recoded_in_words for a in comparison.schema.protected if a.is_recoded},
        runs=f"{comparison.grid.runs} {'run' if comparison.grid.runs == 1 else 'runs'}",
        left_out=left_out(comparison.skipped),
        verdict=verdict,
        figures=figures,
        promises={entry.cell.method: entry for entry in best},  # ε rises: at the largest
        best={
            as_text(epsilon): [entry for entry in best if entry.cell.epsilon == epsilon]
            for epsilon in comparison.epsilons
        },
        key_to_errors=key_to_errors(best),
        extra=extra,
        worst_pairs={
            name: line["two-way"].details["worst_pairs"]
            for name, line in extra.items()
            if "two-way" in line and "worst_pairs" in line["two-way"].details
        },
        extra_measures=[get_measure(name) for name in next(iter(extra.values()), {})],
        measures=[get_measure(name) for name in comparison.results.values],
        means=[comparison.results.mean(name) for name in comparison.results.values],
        groups=GROUPS,
        certificate=certificate,
        certificate_of=shown(verdict.top.cell),
        sample=comparison.sample,
    )
    return page(title, body, page_style())
