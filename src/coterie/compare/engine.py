"""The cells of a grid, k by k: the same numbers as protect() and the measures give, at a fraction of the work.

What is shared: one sort an attribute for the whole grid; one clustering, summary, centroid and sensitivity for all ε
and runs; one set of unit noise for all methods and ε of a seed. What remains a cell is one multiplication, one
clipping and the measures, on one number a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from coterie.budget import split
from coterie.compare.grid import Cell
from coterie.compare.sorted_table import Floats, SortedTable
from coterie.methods import get_method
from coterie.methods.parts import EACH_ALONE
from coterie.methods.recipe import Recipe
from coterie.noise.sampler import laplace_scales
from coterie.schema import Attribute, AttributeType, Schema
from coterie.utility.clustered import ClusteredColumn, Column
from coterie.utility.measure import Measure, Settings

_NUMBERS_AT_ONCE = 2_000_000  # cells × runs × clusters worked on together: 16 MB an array


@dataclass(frozen=True, slots=True)
class Block:
    """Finished cells of one method and k. values[measure] has the axes cell, run, attribute."""

    cells: tuple[Cell, ...]
    values: dict[str, Floats]


def run_cells(
    table: SortedTable,
    schema: Schema,
    cells: Sequence[Cell],
    runs: int,
    seed: int,
    measures: Sequence[Measure],
    settings: Settings,
) -> Iterator[Block]:
    """Work through the cells, method by method within each k."""
    columns = {attribute.name: table.column(attribute) for attribute in schema.protected}
    weights = {attribute.name: attribute.weight for attribute in schema.protected}
    remaining = list(cells)
    clustered: dict[tuple[str, bool], ClusteredColumn] = {}
    last_k = None
    while remaining:
        method, k = remaining[0].method, remaining[0].k
        block = tuple(cell for cell in remaining if (cell.method, cell.k) == (method, k))
        remaining = [cell for cell in remaining if (cell.method, cell.k) != (method, k)]
        if k != last_k:
            clustered, last_k = {}, k
        recipe = get_method(method).numeric
        alone = recipe.partition is EACH_ALONE
        shares = [split(cell.epsilon, weights) for cell in block]
        found = {
            measure.name: np.empty((len(block), runs, len(schema.protected))) for measure in measures
        }
        for place, attribute in enumerate(schema.protected):
            name = attribute.name
            if (name, alone) not in clustered:
                clustered[name, alone] = _cluster(table, columns[name], k, alone=alone)
            column = clustered[name, alone]
            noise = table.unit_noise(name, seed, runs, len(column.summary.size))
            epsilons = [share[name] for share in shares]
            for first, values in _released(column, recipe, attribute, k, epsilons, noise):
                for measure in measures:
                    assert measure.by_cluster is not None
                    numbers = measure.by_cluster(column, values, settings)
                    found[measure.name].reshape(-1, len(schema.protected))[
                        first : first + len(numbers), place
                    ] = numbers
        yield Block(block, found)


def _cluster(table: SortedTable, column: Column, k: int, *, alone: bool) -> ClusteredColumn:
    found = table.columns[column.attribute.name]
    return ClusteredColumn(column, found.alone() if alone else found.summary(k), alone)


def _released(
    column: ClusteredColumn,
    recipe: Recipe,
    attribute: Attribute,
    k: int,
    epsilons: Sequence[Fraction],
    noise: Floats,
) -> Iterator[tuple[int, Floats]]:
    """The released cluster values: one row a (cell, run), as many rows at a time as memory allows."""
    domain = attribute.bounds()
    centroids = recipe.centroid.compute(column.summary)
    runs, q = noise.shape
    scales = np.zeros((len(epsilons), q))
    if recipe.bound is not None:
        sensitivity = recipe.bound.compute(column.summary, domain, k)
        scales = np.stack([laplace_scales(sensitivity, epsilon) for epsilon in epsilons])
    together = max(1, _NUMBERS_AT_ONCE // (q * runs))
    for first in range(0, len(epsilons), together):
        stretch = scales[first : first + together]
        values = (centroids + stretch[:, None, :] * noise).reshape(-1, q)
        np.clip(values, domain.lower, domain.upper, out=values)
        if attribute.type is AttributeType.INTEGER:
            np.rint(values, out=values)
        yield first * runs, values
