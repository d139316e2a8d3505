"""Several methods, k and ε on the same sample: how much each loses, and what an attacker gains from each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from coterie.comparison.compare import compare
from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import left_out
from coterie.report.examples import example_releases, risk_points
from coterie.report.ranking import Best, best_cells, errors_by, is_synthetic, verdict
from coterie.schema.exact import as_text
from coterie.studio.project import Project
from coterie.studio.sampling import RUNS, SEED, drawn_sample

Tell = Callable[[float | None, str], None]
SECONDS = 4.0  # of attacks on each release
_MEASURES = ("sse", "sse-matched", "semantic-distance", "jensen-shannon")


def work(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: methods, epsilons, ks, rows, synthetic."""
    tell(0.01, "Drawing the sample")
    sample = drawn_sample(project, parameters["rows"], synthetic=parameters["synthetic"])

    def advanced(done: int, total: int) -> None:
        tell(0.02 + 0.43 * done / total, f"Comparing: {done} of {total} choices")

    comparison = compare(
        sample.table,
        sample.schema,
        methods=parameters["methods"],
        epsilon=parameters["epsilons"],
        k=parameters["ks"],
        runs=RUNS,
        seed=SEED,
        progress=advanced,
    )
    best = best_cells(comparison)
    said = verdict(comparison, best)
    tell(0.45, "Making an example of each method")
    examples = example_releases(comparison, best, sample.table)

    def attacked(done: int) -> None:
        tell(0.5 + 0.5 * done / len(examples), f"Attacking: {done} of {len(examples)} releases")

    attacked(0)
    points = risk_points(comparison, best, examples, sample.table, SECONDS * len(examples), attacked)
    return {
        **sample.told(),
        "headline": said.headline,
        "points": [*replace(said, attacked=tuple(points)).gains, *said.points],
        "best": [_best(entry) for entry in best],
        "skipped": left_out(comparison.skipped),
        "errors": {
            name: _errors(comparison, name) for name in _MEASURES if name in comparison.results.values
        },
        "map": [asdict(point) for point in points],
    }


def _best(entry: Best) -> dict[str, Any]:
    return {
        "method": entry.cell.method,
        "k": entry.cell.k,
        "epsilon": as_text(entry.cell.epsilon),
        "error": entry.error,
        "measure": entry.measure,
        "words": entry.words,
        "synthetic": is_synthetic(entry.cell.method),
    }


def _errors(comparison: Comparison, measure: str) -> list[dict[str, Any]]:
    """The mean over runs and attributes of each cell that has the measure."""
    found = {cell: float(runs.mean()) for cell, runs in errors_by(comparison, measure).items()}
    return [
        {"method": cell.method, "k": cell.k, "epsilon": as_text(cell.epsilon), "error": error}
        for cell, error in found.items()
        if math.isfinite(error)
    ]
