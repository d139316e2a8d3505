"""Few bins an attribute, cut by its released distribution: a function of noisy numbers, so the cut itself costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.columns.column import CategoryColumn, Column
from coterie.synthesis.marginal import Marginal, Steps
from coterie.taxonomy.ranks import encode

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

GRID = 4096


@dataclass(frozen=True, slots=True)
class Binned:
    """The bin of every record (data!), and the share of each bin in the released distribution (public by now)."""

    bins: Whole
    share: Floats


def binned(column: Column, marginal: Marginal, most: int) -> Binned:
    """Up to `most` bins: one a value where so few are possible, else of about equal released share."""
    seen = support(column, marginal)
    if isinstance(marginal, Steps) and len(marginal.values) <= most:
        edges = np.unique(_positions(column, marginal.values))[:-1]
    else:
        edges = np.unique(_positions(column, marginal.at(np.arange(1, most) / most)))
        edges = edges[edges < seen.max()]
    share = np.bincount(np.searchsorted(edges, seen, side="left"), minlength=len(edges) + 1)
    return Binned(np.searchsorted(edges, column.position, side="left"), share / GRID)


def support(column: Column, marginal: Marginal) -> Floats:
    """The released distribution read at GRID even places, as positions in the order of the column."""
    return _positions(column, marginal.at((np.arange(GRID) + 0.5) / GRID))


def _positions(column: Column, values: NDArray[np.generic]) -> Floats:
    if isinstance(column, CategoryColumn):
        return encode(values.astype(np.int32), column.order)
    return values.astype(np.float64)
