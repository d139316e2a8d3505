"""Few bins an attribute, cut by its released distribution: a function of noisy numbers, so the cut itself costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.grid import whole_grid
from coterie.chain.noise.sampler import Sampler, laplace_scales
from coterie.chain.synthesis.marginal import Marginal, Steps, onto_counts, with_margins
from coterie.chain.synthesis.synthesis import Ranks
from coterie.schema.taxonomy.orders import encode
from coterie.table.columns.column import CategoryColumn, Column

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


# Noisy tables along a tree → bins of synthetic rows → ranks. Reads no data.


def down_the_tree(
    shares: Sequence[Floats], tables: Mapping[tuple[int, int], Floats], rows: int, sampler: Sampler
) -> list[Ranks]:
    """Attribute 0 by its share, then each neighbour given the attribute it hangs on; ranks are random inside a bin."""
    bins: dict[int, Whole] = {
        0: _cut(_uniform(sampler, rows, 0), np.broadcast_to(shares[0], (1, len(shares[0]))))
    }
    waiting = dict(tables)
    while waiting:
        a, b = next(pair for pair in waiting if (pair[0] in bins) != (pair[1] in bins))
        table = waiting.pop((a, b))
        known, new = (a, b) if a in bins else (b, a)
        given = table if known == a else table.T
        bins[new] = _cut(_uniform(sampler, rows, new), given, bins[known])
    ranks = []
    for number in range(len(shares)):
        words = sampler.uniform_words(rows, f"coterie: attribute {number} inside its bins")
        place = np.empty(rows, dtype=np.int64)
        place[np.lexsort((words, bins[number]))] = np.arange(rows)
        ranks.append(place)
    return ranks


def _cut(uniform: Floats, weights: Floats, given: Whole | None = None) -> Whole:
    """Row i draws from line `given[i]` of the weights, by inverting its distribution function."""
    ends = np.cumsum(weights, axis=1)
    lines = np.zeros(len(uniform), dtype=np.int64) if given is None else given
    target = uniform * ends[lines, -1]
    found = np.empty(len(uniform), dtype=np.int64)
    for line in range(len(ends)):
        members = lines == line
        found[members] = np.searchsorted(ends[line, :-1], target[members], side="right")
    return found


def _uniform(sampler: Sampler, rows: int, attribute: int) -> Floats:
    words = sampler.uniform_words(rows, f"coterie: bins of attribute {attribute}")
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


# Dependence by a tree of noisy two-way tables (as MST does: McKenna, Miklau, Sheldon 2021), rows drawn down the tree.
#
# Data are read twice, each time for half of ε:
# 1. The tree: m - 1 rounds of the exponential mechanism choose the next pair among those that close no circle.
# The score of a
#    pair is Σ |count - expected| over the cells of its table, where `expected` (whole numbers) comes from the released
#    marginals. One replacement takes 1 from one cell and adds 1 to another: the score moves by at most 2.
# 2. The tables of the m - 1 chosen pairs + Laplace of scale 2/ε for each.

Pair = tuple[int, int]

_DEPENDENCE = Fraction(1, 2)  # of ε; the marginals get the rest
_DROWNED = 1e100  # a scale whose square is still a double; nothing is left of a table long before
_CELL_SENSITIVITY = 2.0  # L1, of a table of counts and of the score


@dataclass(frozen=True, slots=True)
class MarginalTree:
    stages: str = (
        "tree by the exponential mechanism · two-way counts · Laplace, scale 2 / ε · rows down the tree"
    )

    def share(self, attributes: int) -> Fraction:
        return _DEPENDENCE if attributes > 1 else Fraction(0)

    def ranks(
        self,
        columns: Mapping[str, Column],
        marginals: Mapping[str, Marginal],
        epsilon: Fraction,
        sampler: Sampler,
    ) -> dict[str, Ranks]:
        names = list(columns)
        records = len(columns[names[0]].position)
        if len(names) == 1:
            return {names[0]: np.arange(records)}
        each = epsilon / 2 / (len(names) - 1)
        most = public_bins(records, each)
        parts = [binned(columns[name], marginals[name], most) for name in names]
        tree = chosen_tree(parts, each, sampler)
        tables = {pair: noisy_table(parts, pair, each, sampler) for pair in tree}
        drawn = down_the_tree([part.share for part in parts], tables, records, sampler)
        return dict(zip(names, drawn, strict=True))


def public_bins(records: int, epsilon: Fraction) -> int:
    """Bins an attribute: so many that the noise of all b² cells together (2b²/ε) is a quarter of n; from 2 to 32."""
    return max(2, min(32, isqrt(int(records * epsilon / 8))))


def chosen_tree(parts: list[Binned], epsilon: Fraction, sampler: Sampler) -> list[Pair]:
    """m - 1 pairs that join all attributes; each round costs ε."""
    pairs = list(combinations(range(len(parts)), 2))
    scores = {pair: score(parts, pair) for pair in pairs}
    group = list(range(len(parts)))  # attributes that the tree joins already carry the same number
    tree: list[Pair] = []
    for number in range(len(parts) - 1):
        open_ = [pair for pair in pairs if group[pair[0]] != group[pair[1]]]
        losses = -np.array([[scores[pair] for pair in open_]], dtype=np.float64)
        stream = f"coterie: edge {number} of the tree"
        a, b = open_[int(exponential_mechanism(losses, epsilon, _CELL_SENSITIVITY, sampler, stream)[0])]
        tree.append((a, b))
        group = [group[a] if mark == group[b] else mark for mark in group]
    return tree


def score(parts: list[Binned], pair: Pair) -> int:
    """How far the table is from independence, in records: a whole number, so its sensitivity is exact."""
    first, second = (parts[number] for number in pair)
    expected = np.rint(len(first.bins) * np.outer(first.share, second.share)).astype(np.int64)
    return int(np.abs(counts(parts, pair) - expected).sum())


def counts(parts: list[Binned], pair: Pair) -> NDArray[np.int64]:
    first, second = (parts[number] for number in pair)
    shape = len(first.share), len(second.share)
    cells = np.bincount(first.bins * shape[1] + second.bins, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def noisy_table(parts: list[Binned], pair: Pair, epsilon: Fraction, sampler: Sampler) -> Floats:
    """The pair's table with noise on every cell, shrunk towards independence and fitted to the released marginals."""
    exact = counts(parts, pair).astype(np.float64)
    scales = laplace_scales(np.full(exact.size, _CELL_SENSITIVITY), epsilon)
    stream = f"coterie: table of attributes {pair[0]} and {pair[1]}"
    records = len(parts[pair[0]].bins)
    grid = whole_grid(records, float(scales.max())) if sampler.private else None
    noisy = sampler.laplace(exact.ravel(), scales, stream, grid).reshape(exact.shape)
    # From here on post-processing.
    first, second = (parts[number].share for number in pair)
    independent = records * np.outer(first, second)
    # A public guess: a cell deviates from independence by about half its mean size. Noise beyond that is shrunk.
    guess, variance = (0.5 * records / exact.size) ** 2, 2 * min(float(scales[0]), _DROWNED) ** 2
    shrunk = independent + (noisy - independent) * guess / (guess + variance)
    return with_margins(onto_counts(shrunk, float(records)), records * first, records * second)
