"""Two-way tables: bins by the released distributions, and what is made of noisy counts. Only `counted` sees records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.synthesis.cells import Cells
from coterie.chain.synthesis.distributions import DROWNED, Distribution
from coterie.schema.arrays import Floats, Whole

Pair = tuple[int, int]
_BY_CHANCE = 1.0  # standard deviations by which squared noise may be larger than expected


@dataclass(frozen=True, slots=True)
class Binning:
    """Few bins per attribute: fine code → bin. A function of released numbers."""

    bin_of: tuple[Whole, ...]
    sizes: Whole

    @property
    def pairs(self) -> list[Pair]:
        return list(combinations(range(len(self.sizes)), 2))

    def binned(self, codes: NDArray[np.integer]) -> NDArray[np.uint16]:
        """One line per attribute; `codes` has one line per attribute too."""
        return np.stack([bins[line] for bins, line in zip(self.bin_of, codes, strict=True)]).astype(np.uint16)

    def counted(self, bins: NDArray[np.uint16]) -> list[Whole]:
        """The tables of all pairs, over some records: chunks add up."""
        from coterie.chain.synthesis._row_loops import count_pairs

        pairs = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        cells = self.sizes[pairs[:, 0]] * self.sizes[pairs[:, 1]]
        starts = np.concatenate([[0], np.cumsum(cells)])
        out = np.zeros(int(starts[-1]), dtype=np.int64)
        first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        count_pairs(np.ascontiguousarray(bins), first, second, self.sizes, starts, out)
        return [
            out[starts[p] : starts[p + 1]].reshape(self.sizes[a], self.sizes[b])
            for p, (a, b) in enumerate(pairs)
        ]


def binning(cells: Sequence[Cells], distributions: Sequence[Distribution], most: int) -> Binning:
    found = [_bins(cell, released, most) for cell, released in zip(cells, distributions, strict=True)]
    return Binning(tuple(found), np.array([int(bins.max()) + 1 for bins in found], dtype=np.int64))


def _bins(cell: Cells, released: Distribution, most: int) -> Whole:
    shares = released.shares
    values = len(shares) - cell.missing
    bins = np.zeros(len(shares), dtype=np.int64)
    if cell.ordered:  # a bin never ends inside a part of the domain that was counted as one
        atoms = released.atoms[:values]
        bins[:values] = _by_mass(np.bincount(atoms, weights=shares[:values]).astype(np.float64), most)[atoms]
    else:
        kept = min(values, most)
        order = np.argsort(-shares[:values], kind="stable")
        number = np.full(values, kept - 1)
        number[order[: kept - 1]] = np.arange(kept - 1)
        bins[:values] = number
    if cell.missing:
        bins[-1] = bins[:values].max() + 1 if values else 0
    return bins


def _by_mass(shares: Floats, most: int) -> Whole:
    """Neighbouring cells together, each bin of about the same released mass; heavy cells alone."""
    total = shares.sum()
    if total <= 0 or len(shares) <= most:
        return np.minimum(np.arange(len(shares)), most - 1)
    bins = np.empty(len(shares), dtype=np.int64)
    left, number, held = total, 0, 0.0
    for place, share in enumerate(shares):
        aim = left / (most - number)
        # A new bin where this one is nearer to its aim without the next cell.
        if held > 0 and number < most - 1 and held + share / 2 > aim:
            left -= held
            number, held = number + 1, 0.0
        bins[place] = number
        held += share
    return bins


def shrunk(noisy: Floats, model: Floats, deviation: float) -> Floats:
    """James–Stein: towards the model by as much as noise explains of the distance; all the way where it may be noise."""
    if deviation > DROWNED * max(float(model.sum()), 1.0):
        return model
    off = noisy - model
    distance = float((off**2).sum())
    expected = off.size * deviation**2
    if distance <= expected * (1 + _BY_CHANCE * np.sqrt(2 / off.size)):
        return model
    return np.asarray(model + off * (1 - expected / distance))


def fitted(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Non-negative and with the given margins (iterative proportional fitting)."""
    found: Floats = np.maximum(table, 0.0) + 1e-6 * np.outer(rows, columns) / max(rows.sum(), 1e-300)
    for _ in range(30):
        found *= _ratio(rows, found.sum(axis=1))[:, None]
        found *= _ratio(columns, found.sum(axis=0))[None, :]
    return found


def _ratio(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)


def whole_counts(values: Floats, total: int) -> Whole:
    """Whole numbers that add up to `total`, each within 1 of its share, and so is every run of neighbours.

    Many small shares in a row get the sum of them, evenly spread: the largest remainders would take everything instead.
    """
    scaled = np.maximum(values, 0.0)
    if scaled.ndim == 2:  # there and back again, so that the end of one line is a neighbour of the next
        scaled = scaled.copy()
        scaled[1::2] = scaled[1::2, ::-1]
    shares = scaled.ravel() if scaled.sum() > 0 else np.ones(scaled.size)
    ends = np.floor(np.cumsum(shares) / shares.sum() * total + 0.5)
    ends[-1] = total
    found: Whole = np.diff(np.minimum(ends, total), prepend=0.0).astype(np.int64).reshape(values.shape)
    if found.ndim == 2:
        found[1::2] = found[1::2, ::-1]
    return found
