"""One example release of each compared method: what an attacker gains from it, and what whole rows are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from coterie.auditing import audit_release
from coterie.auditing.attacks.finding import FEWEST_TRIALS
from coterie.auditing.audit import Audit
from coterie.auditing.auditing_method import hold_back
from coterie.comparison.by_release import draw
from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import Cell
from coterie.evaluation import all_measures
from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee, Status
from coterie.publication.release import Release
from coterie.report.charts import RiskPoint
from coterie.report.ranking import Best, errors_by, is_synthetic, yardstick


def example_releases(comparison: Comparison, best: list[Best], data: pa.Table) -> dict[Cell, Release]:
    """One seeded release of each method: its best k at the largest ε, drawn as run 0 of that cell."""
    largest = comparison.epsilons[-1]
    cells = [entry.cell for entry in best if entry.cell.epsilon == largest]
    return {cell: draw(data, comparison.schema, cell, comparison.grid.seed) for cell in cells}


def risk_points(
    comparison: Comparison,
    best: list[Best],
    examples: Mapping[Cell, Release],
    data: pa.Table,
    seconds: float,
    progress: Callable[[int], None] | None = None,
) -> list[RiskPoint]:
    """Each method attacked, all together for `seconds`: what an attacker gains against what is lost.

    What is attacked is a release of four fifths of the records: the others are the control group, without which nobody
    could tell a leak from what anybody can infer. Of a table too small for that, the example itself is attacked, and a
    method that nothing could then be said of is left out. `progress` is told how many are done.
    """
    points: list[RiskPoint] = []
    errors = errors_by(comparison, yardstick(comparison))
    inside, others = hold_back(data, comparison.grid.seed, comparison.schema)
    attacked = [entry for entry in best if entry.cell in examples]
    for done, entry in enumerate(attacked, 1):
        recipe, apart = get_method(entry.cell.method), entry.cell.k <= inside.num_rows
        apart = apart and others.num_rows >= FEWEST_TRIALS
        audit = audit_release(
            inside if apart else data,
            (
                draw(inside, comparison.schema, entry.cell, comparison.grid.seed)
                if apart
                else examples[entry.cell]
            ).table,
            comparison.schema,
            control=others if apart else None,
            in_order=not recipe.synthetic,
            method=recipe,
            seconds=seconds / len(examples),
            seed=comparison.grid.seed,
        )
        if audit.judged:
            loss = float(errors[entry.cell].mean())
            points.append(risk_point(shown(entry.cell), entry.guarantee, loss, audit))
        if progress:
            progress(done)
    return points


def risk_point(name: str, guarantee: Guarantee, loss: float, audit: Audit) -> RiskPoint:
    """The point as the legend explains it: a proof of something weaker is not a proof of privacy."""
    weaker = guarantee.status is Status.PROVED and guarantee.model != "differential privacy"
    promise = f"proved: {guarantee.model}" if weaker else ""
    gain = audit.highest_gain
    low, high = min(gain.low, gain.value), max(gain.high, gain.value)
    return RiskPoint(name, guarantee.status.value, loss, gain.value, low, high, promise)


def shown(cell: Cell) -> str:
    return f"{cell.method}, k = {cell.k}" if cell.k > 1 else cell.method


ORIGINAL = "the original itself (upper bound)"


def whole_rows(pairs: Mapping[Cell, Pair], settings: Settings) -> dict[str, dict[str, MeasureResult]]:
    """A line per example release; with a class column, first what a classifier reaches without any protection."""
    measures = [
        measure
        for measure in all_measures().values()
        if measure.table is not None and (measure.name != "classification" or settings.target is not None)
    ]
    found = {
        shown(cell): {measure.name: _one(measure, cell, pair, settings) for measure in measures}
        for cell, pair in pairs.items()
    }
    bounds = [
        result.details["upper_bound"]
        for line in found.values()
        for result in line.values()
        if "upper_bound" in result.details
    ]
    if bounds:  # the same for all: they have the original and the seed in common
        untouched = {m.name: MeasureResult(bounds[0] if m.higher_is_better else 0.0) for m in measures}
        return {ORIGINAL: untouched, **found}
    return found


def _one(measure: Measure, cell: Cell, pair: Pair, settings: Settings) -> MeasureResult:
    if measure.needs_linkage and is_synthetic(cell.method):
        return MeasureResult(None, reason="rows are synthetic")
    return measure.compute(pair, settings)
