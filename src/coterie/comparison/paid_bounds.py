"""Cells whose bounds are paid for: they differ from run to run and from ε to ε.

Methods and k of one ε share the bounds of each run. Where attributes are grouped one by one, those with public bounds
are worked on as in any grid, and those that paid stand side by side in one table, a column per run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.private_bounds import Paid, check_price, pay_for_bounds
from coterie.comparison.engine import Block, ShareOut, Shares, Trials, run_cells
from coterie.comparison.grid import Cell, Skipped
from coterie.comparison.shared_work import SortedTable, of_run
from coterie.errors import ParameterError
from coterie.methods import get_method
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Schema
from coterie.table.checked import Checked
from coterie.table.columns.column import Column

Columns = Mapping[str, Column]
Values = dict[str, Floats]  # by measure: cell, run, attribute


def affordable(checked: Checked, schema: Schema, cells: Sequence[Cell]) -> tuple[list[Cell], list[Skipped]]:
    """The cells whose ε buys bounds, and why the others' does not. Public numbers decide: n, the candidates and ε."""
    if not schema.searched:
        return list(cells), []
    share_out = ShareOut({attribute.name: attribute.weight for attribute in schema.protected})
    refused: dict[int, ParameterError | None] = {}  # by shares: many cells have the same
    possible: list[Cell] = []
    skipped: dict[tuple[str, Fraction], Skipped] = {}
    error: ParameterError | None = None
    for cell in cells:
        shares = share_out(cell.epsilon, get_method(cell.method))
        if id(shares) not in refused:
            refused[id(shares)] = _refusal(checked, shares)
        error = refused[id(shares)]
        if error is None:
            possible.append(cell)
        else:
            skipped[cell.method, cell.epsilon] = Skipped(cell.method, error.problem, epsilon=cell.epsilon)
    if error is not None and not possible:
        raise ParameterError(
            f"No cell of the grid is possible: {error.problem}", f"Choose a larger ε. {error.advice}"
        )
    return possible, list(skipped.values())


def _refusal(checked: Checked, shares: Shares) -> ParameterError | None:
    try:
        check_price(checked, shares)
    except ParameterError as error:
        return error
    return None


def run_paid_cells(
    checked: Checked, original: Columns, schema: Schema, cells: Sequence[Cell], trials: Trials
) -> Iterator[Block]:
    """As `run_cells`; measures see `original`. Methods that give every attribute the same ε find the same bounds."""
    share_out = ShareOut({attribute.name: attribute.weight for attribute in schema.protected})
    alike: dict[int, tuple[Shares, list[Cell]]] = {}
    for cell in cells:
        shares = share_out(cell.epsilon, get_method(cell.method))
        alike.setdefault(id(shares), (shares, []))[1].append(cell)
    for shares, members in alike.values():
        samplers = [SeededSampler(trials.seed + run) for run in range(trials.runs)]
        paid = [pay_for_bounds(checked, schema, shares, sampler) for sampler in samplers]
        for work, together in ((_one_by_one, False), (_together, True)):
            some = [cell for cell in members if get_method(cell.method).grouping.multivariate is together]
            if some:
                yield Block(tuple(some), work(checked, original, paid, some, trials))


def _one_by_one(
    checked: Checked, originals: Columns, paid: Sequence[Paid], cells: Sequence[Cell], trials: Trials
) -> Values:
    names = list(checked.columns)
    found = _empty(cells, names, trials)
    public = [name for name in names if name not in paid[0].spent]
    if public:
        seen, measured = ({n: columns[n] for n in public} for columns in (checked.columns, originals))
        table = SortedTable(seen, measured)
        for block in run_cells(table, cells, trials, shares=paid[0].left):
            _fill(found, cells, block, slice(None), [names.index(name) for name in public])
    columns: dict[str, Column] = {}
    original: dict[str, Column] = {}
    each: dict[str, Fraction] = {}
    for run, bounds in enumerate(paid):
        for name in bounds.spent:
            own = of_run(name, run)
            column = bounds.checked.columns[name]
            columns[own] = replace(column, attribute=column.attribute.model_copy(update={"name": own}))
            original[own], each[own] = originals[name], bounds.left[name]
    table = SortedTable(columns, original)
    for block in run_cells(table, cells, replace(trials, runs=1), shares=each):
        spent = [names.index(name) for name in paid[0].spent]
        by_run = {
            name: values.reshape(len(block.cells), trials.runs, len(spent))
            for name, values in block.values.items()
        }
        _fill(found, cells, Block(block.cells, by_run), slice(None), spent)
    return found


def _together(
    checked: Checked,
    originals: Columns,
    paid: Sequence[Paid],
    cells: Sequence[Cell],
    trials: Trials,
) -> Values:
    """Groups over all attributes change with the bounds: run by run."""
    names = list(checked.columns)
    found = _empty(cells, names, trials)
    for run, bounds in enumerate(paid):
        table = SortedTable(bounds.checked.columns, originals)
        alone = replace(trials, runs=1, seed=trials.seed + run)
        for block in run_cells(table, cells, alone, shares=bounds.left):
            _fill(found, cells, block, slice(run, run + 1), list(range(len(names))))
    return found


def _empty(cells: Sequence[Cell], names: Sequence[str], trials: Trials) -> Values:
    shape = (len(cells), trials.runs, len(names))
    return {measure.name: np.full(shape, np.nan) for measure in trials.measures}


def _fill(found: Values, cells: Sequence[Cell], block: Block, runs: slice, attributes: list[int]) -> None:
    places = {cell: place for place, cell in enumerate(cells)}
    for name, values in block.values.items():
        for cell, value in zip(block.cells, values, strict=True):
            found[name][places[cell]][runs, attributes] = value
