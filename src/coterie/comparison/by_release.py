"""Cells that are drawn release by release, as `protect` draws them, and measured as `evaluate` measures them.

This is done for methods that model the whole table, which share nothing between runs. It is done for all cells where choices
are ranked by a purpose: how well relations or models survive can only be measured on whole rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from coterie.comparison.engine import Block, Trials
from coterie.comparison.grid import Cell, Skipped
from coterie.errors import ParameterError
from coterie.evaluation.measure import Measure, MeasureResult
from coterie.evaluation.pair import bring_together
from coterie.methods import get_method
from coterie.promise.terms import forecast
from coterie.publication.protect import protect
from coterie.publication.release import Release
from coterie.schema.attributes import Schema


def draw(table: pa.Table, schema: Schema, cell: Cell, seed: int) -> Release:
    """The release that a cell stands for."""
    k = None if get_method(cell.method).fixed_k else cell.k
    return protect(table, schema, method=cell.method, epsilon=cell.epsilon, k=k, seed=seed)


def with_unit(schema: Schema, cells: Sequence[Cell]) -> tuple[list[Cell], list[Skipped]]:
    """The cells whose method has a promise for the schema's unit, and why the others do not."""
    refused: dict[str, ParameterError] = {}
    for cell in cells:
        try:
            forecast(schema, get_method(cell.method), cell.epsilon, cell.k)
        except ParameterError as error:
            refused[cell.method] = error
    possible = [cell for cell in cells if cell.method not in refused]
    if not possible:
        first = next(iter(refused.values()))
        raise ParameterError(f"No cell of the grid is possible: {first.problem}", first.advice)
    skipped = {
        (cell.method, cell.k): Skipped(cell.method, refused[cell.method].problem, k=cell.k)
        for cell in cells
        if cell.method in refused
    }
    return possible, list(skipped.values())


def run_releases(
    table: pa.Table, schema: Schema, cells: Sequence[Cell], trials: Trials, purpose: Measure | None
) -> Iterator[Block]:
    """Whole cells: the measures of a grid, and that of the purpose."""
    for cell in cells:
        yield Block(
            (cell,), _measured(table, schema, cell, trials, [*trials.measures, *filter(None, [purpose])])
        )


def with_purpose(table: pa.Table, schema: Schema, block: Block, trials: Trials, purpose: Measure) -> Block:
    """The same cells, with the measure of the purpose."""
    found = [_measured(table, schema, cell, trials, [purpose])[purpose.name] for cell in block.cells]
    return Block(block.cells, {**block.values, purpose.name: np.concatenate(found)})


def _measured(
    table: pa.Table, schema: Schema, cell: Cell, trials: Trials, measures: Sequence[Measure]
) -> dict[str, np.ndarray]:
    names = [attribute.name for attribute in schema.protected]
    found = {measure.name: np.full((1, trials.runs, len(names)), np.nan) for measure in measures}
    linked = not get_method(cell.method).synthetic
    for run in range(trials.runs):
        released = draw(table, schema, cell, trials.seed + run).table
        pair = bring_together(table, released, schema, shuffled=not linked)
        for measure in measures:
            if linked or not measure.needs_linkage:
                result = trials.safely(measure, measure.compute, pair, trials.settings)
                if result is not None:
                    found[measure.name][0, run] = _by_column(measure, result, names)
    return found


def _by_column(measure: Measure, result: MeasureResult, names: Sequence[str]) -> list[float]:
    """One number per attribute. A measure of whole rows has one, minus what sampling as many original rows costs."""
    if measure.attribute is not None:
        return [result.attributes.get(name, np.nan) for name in names]
    value = np.nan if result.value is None else result.value - result.details.get("by_sampling", 0.0)
    return [max(value, 0.0)] * len(names)
