"""Dependence at large: one noisy matrix of the scores of all ordered attributes, and the Gaussian copula that it implies.

A record's score in an attribute is its centred rank under the *released* distribution, scaled to the variance of a uniform
number. Scores are whole numbers on a public grid (2^-SCALE), and a record's vector of them is cut to length R. Replacing one
record moves the upper triangle of Σ u·uᵀ by at most R² in L2 and R²·√(q(q-1)/2) in L1 (docs/guarantees/dp-synthetic).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.discrete_gaussian import LARGEST_DEVIATION
from coterie.chain.synthesis.accountant import Accountant, Reading
from coterie.chain.synthesis.cells import Cells
from coterie.chain.synthesis.distributions import DROWNED, Distribution
from coterie.schema.arrays import Floats, Whole

SCALE = 10  # binary digits of a score
_LONGER = 1.15  # R² in units of what a record has on average
_UNIFORM = 1 / 3  # variance of a number drawn evenly from -1 to 1
_STRONGEST = 0.985  # no released correlation is closer to 1
_MOST = 3.0  # no score is larger
_ROUNDS = 500
_NEAR = 1e-10
_SPREAD = 0.08  # variance of correlations beside the common factors, at most


@dataclass(frozen=True, slots=True)
class Scores:
    """What turns fine codes into scores: public by the time it is used."""

    tables: tuple[Whole, ...]  # per scored column: fine code → score on the grid
    columns: tuple[int, ...]  # which attribute each scored column belongs to
    attenuation: Floats  # sd of the score of a cell over sd of the rank inside it

    @property
    def limit(self) -> int:
        """R² on the grid."""
        return _limit(len(self.tables))

    def gram(self, codes: NDArray[np.integer]) -> Whole:
        """Σ u·uᵀ over some records: chunks add up. `codes` has one row per record and one column per attribute."""
        vectors = np.empty((len(codes), len(self.tables)))
        for place, (table, column) in enumerate(zip(self.tables, self.columns, strict=True)):
            vectors[:, place] = table[codes[:, column]]
        vectors = cut_to(vectors, self.limit)
        # Products of doubles that hold whole numbers: exact as long as a chunk's sum stays below 2^53.
        return np.asarray(np.rint(vectors.T @ vectors), dtype=np.int64)


def cut_to(vectors: Floats, limit: int) -> Floats:
    """Whole-number vectors whose squared length is at most `limit`: longer ones are shortened, toward zero."""
    squared = np.einsum("ij,ij->i", vectors, vectors)
    long = np.flatnonzero(squared > limit)
    shorter = vectors[long]
    factor = np.sqrt(limit / squared[long])
    while len(long):
        cut = np.trunc(shorter * factor[:, None])
        done = np.einsum("ij,ij->i", cut, cut) <= limit
        vectors[long[done]] = cut[done]
        long, shorter, factor = long[~done], shorter[~done], factor[~done] * (1 - 2.0**-20)
    return vectors


def scores_of(cells: Sequence[Cells], distributions: Sequence[Distribution]) -> Scores:
    tables, columns, attenuation = [], [], []
    for number, (cell, distribution) in enumerate(zip(cells, distributions, strict=True)):
        if not (cell.ordered or cell.size - cell.missing == 2):
            continue
        shares = distribution.shares
        present = ~np.isnan(cell.positions)
        inside = np.where(present, shares, 0.0)
        total = inside.sum()
        if total < 1e-3:
            continue
        inside = inside / total
        rank = 2 * (np.cumsum(inside) - inside / 2) - 1
        variance = float(inside @ rank**2)
        if variance < 1e-3:
            continue
        score = np.clip(np.where(present, rank, 0.0) * math.sqrt(_UNIFORM / variance), -_MOST, _MOST)
        tables.append(np.trunc(score * 2**SCALE).astype(np.int64))
        columns.append(number)
        attenuation.append(math.sqrt(min(variance / _UNIFORM, 1.0)))
    return Scores(tuple(tables), tuple(columns), np.array(attenuation))


def _limit(scored: int) -> int:
    return int(_LONGER * scored * _UNIFORM * 4**SCALE)


def _widest(scored: int) -> int:
    """How far one record moves the upper triangle in L1, at most."""
    return math.isqrt(scored * (scored - 1) // 2 * _limit(scored) ** 2) + 1


def correlation_noise(n: int, scored: int, part: Fraction, accountant: Accountant) -> float:
    """The noise that one correlation would get. Plans need it; no data are read."""
    deviation = accountant.deviation(part, _widest(scored), _limit(scored) ** 2)
    return deviation / (n * _UNIFORM * 2.0 ** (2 * SCALE))


def noisy_correlation(
    gram: Whole, scores: Scores, n: float, part: Fraction, accountant: Accountant
) -> tuple[Floats, Reading | None]:
    """The correlation matrix of the Gaussian copula behind all scored columns, and what was read of them, pair by pair."""
    q = len(scores.tables)
    if q < 2:
        return np.eye(q), None
    upper = np.triu_indices(q, 1)
    limit, widest = scores.limit, _widest(q)
    if accountant.deviation(part, widest, limit**2) > LARGEST_DEVIATION / 2:
        return np.eye(q), None  # not read at all: the sampler has no such noise, and nothing would be left
    reading = accountant.noisy_vector(gram[upper], widest, limit**2, part, "coterie: scores of all pairs")
    scale = n * 4**SCALE * _UNIFORM
    noisy, deviation = reading.values / scale, reading.deviation / scale
    found = Reading(noisy, deviation)
    if deviation > DROWNED:
        return np.eye(q), found
    matrix = np.eye(q)
    matrix[upper] = noisy
    matrix.T[upper] = noisy
    shrunk = _shrunk(matrix, deviation)
    # Ties weaken a rank correlation: undo it, then from ranks to the normal scores behind them.
    ranks = np.clip(shrunk / np.outer(scores.attenuation, scores.attenuation), -1, 1)
    normal = 2 * np.sin(np.pi / 6 * ranks)
    normal = np.clip(normal, -_STRONGEST, _STRONGEST)
    np.fill_diagonal(normal, 1.0)
    return nearest_correlation(normal), found


def _shrunk(matrix: Floats, deviation: float) -> Floats:
    """Eigenvalues beyond the edge of the noise are kept, less what noise added; the rest is shrunk entry by entry."""
    q = len(matrix)
    signal = matrix - np.eye(q)
    values, vectors = np.linalg.eigh(signal)
    edge = 2 * deviation * math.sqrt(q)
    kept = np.where(np.abs(values) > edge, np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0)), 0.0)
    kept = np.clip(kept, -q, q) if edge < q / 3 else np.zeros(q)  # no eigenvalue is larger
    large = (vectors * kept) @ vectors.T
    rest = signal - large
    off = ~np.eye(q, dtype=bool)
    spread = min(max(float(np.mean(rest[off] ** 2)) - deviation**2, 0.0), _SPREAD)
    result = large + rest * (spread / (spread + deviation**2 + 1e-300))
    np.fill_diagonal(result, 1.0)
    return np.asarray((result + result.T) / 2)


def copula_ranks(correlation: Floats, deviates: Floats) -> Floats:
    """Rows of a Gaussian copula as places between 0 and 1; `deviates` are independent standard normals."""
    from scipy.special import ndtr

    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    root = root / np.linalg.norm(root, axis=1, keepdims=True)
    return np.asarray(ndtr(deviates @ root.T))


def nearest_correlation(matrix: Floats) -> Floats:
    """The nearest correlation matrix: Higham's alternating projections with Dykstra's correction (2002, Algorithm 3.3)."""
    current, correction = matrix.copy(), np.zeros_like(matrix)
    for _ in range(_ROUNDS):
        before = current
        shifted = current - correction
        values, vectors = np.linalg.eigh(shifted)
        positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
        correction = positive - shifted
        current = positive.copy()
        np.fill_diagonal(current, 1.0)
        if np.abs(current - before).max() < _NEAR:
            break
    return np.asarray(np.clip((current + current.T) / 2, -1.0, 1.0))
