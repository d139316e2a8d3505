"""Cells whose bounds are paid for: they differ from run to run, so work is shared by the methods and k of one ε and run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from coterie.bounds.paid import pay_for_bounds
from coterie.compare.engine import Block, run_cells, shares_of
from coterie.compare.grid import Cell
from coterie.compare.section import Shares
from coterie.compare.sorted_table import sort_once
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.noise.seeded import SeededSampler
from coterie.schema import Schema, Source
from coterie.table import Checked
from coterie.utility.measure import Measure, Settings


def pays_for_bounds(schema: Schema) -> bool:
    return any(a.domain is not None and a.domain.source is Source.DP for a in schema.protected)


def run_paid_cells(
    checked: Checked,
    schema: Schema,
    cells: Sequence[Cell],
    runs: int,
    seed: int,
    measures: Sequence[Measure],
    settings: Settings,
) -> Iterator[Block]:
    """As `run_cells`. Methods that give every attribute the same ε find the same bounds."""
    weights = {attribute.name: attribute.weight for attribute in schema.protected}
    alike: dict[tuple[Fraction, ...], list[Cell]] = {}
    for cell in cells:
        shares = shares_of(cell.epsilon, get_method(cell.method), weights)
        alike.setdefault(tuple(shares[name] for name in weights), []).append(cell)
    for budget, members in alike.items():
        shape = (len(members), runs, len(weights))
        found = {measure.name: np.full(shape, np.nan) for measure in measures}
        place = {cell: number for number, cell in enumerate(members)}
        for run in range(runs):
            shares = dict(zip(weights, budget, strict=True))
            paid = pay_for_bounds(checked, schema, shares, SeededSampler(seed + run))

            def left(epsilon: Fraction, method: Method, left: Shares = paid.left) -> Shares:
                return left

            table = sort_once(paid.checked.columns, checked.columns)
            for block in run_cells(table, members, 1, seed + run, measures, settings, share_out=left):
                for name, values in block.values.items():
                    found[name][[place[cell] for cell in block.cells], run] = values[:, 0]
        yield Block(tuple(members), found)
