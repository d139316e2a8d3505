"""The measures that no cell of a grid can give, because they look at several attributes of a row at once."""

from __future__ import annotations

from collections.abc import Mapping

from coterie.comparison.grid import Cell
from coterie.evaluation import all_measures
from coterie.evaluation.measure import Measure, Measured, Settings
from coterie.evaluation.pair import Pair
from coterie.report.examples import shown
from coterie.report.ranking import is_synthetic

ORIGINAL = "the original itself (upper bound)"


def whole_rows(pairs: Mapping[Cell, Pair], settings: Settings) -> dict[str, dict[str, Measured]]:
    """A line an example release; with a class column, first what a classifier reaches without any protection."""
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
        untouched = {m.name: Measured(bounds[0] if m.higher_is_better else 0.0) for m in measures}
        return {ORIGINAL: untouched, **found}
    return found


def _one(measure: Measure, cell: Cell, pair: Pair, settings: Settings) -> Measured:
    if measure.needs_linkage and is_synthetic(cell.method):
        return Measured(None, reason="rows are synthetic")
    return measure.compute(pair, settings)
