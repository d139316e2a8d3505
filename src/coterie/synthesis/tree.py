"""Dependence by a tree of noisy two-way tables (as MST does: McKenna, Miklau, Sheldon 2021), rows drawn down the tree.

Data are read twice, each time for half of ε:
1. The tree: m - 1 rounds of the exponential mechanism choose the next pair among those that close no circle. The score of a
   pair is Σ |count - expected| over the cells of its table, where `expected` (whole numbers) comes from the released
   marginals. One replacement takes 1 from one cell and adds 1 to another: the score moves by at most 2.
2. The tables of the m - 1 chosen pairs + Laplace of scale 2/ε for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from coterie.columns.column import Column
from coterie.noise.exponential import exponential_mechanism
from coterie.noise.grid import whole_grid
from coterie.noise.sampler import Sampler, laplace_scales
from coterie.synthesis.bins import Binned, binned
from coterie.synthesis.draw import down_the_tree
from coterie.synthesis.marginal import Marginal
from coterie.synthesis.smoothing import onto_counts, with_margins
from coterie.synthesis.synthesis import Ranks

Floats = NDArray[np.float64]
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
