"""Noisy correlations → a matrix that some normal distribution has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.grid import whole_grid
from coterie.chain.noise.sampler import Sampler, laplace_scales
from coterie.chain.synthesis.kendall import concordance, concordance_sensitivity
from coterie.chain.synthesis.marginal import Marginal
from coterie.chain.synthesis.synthesis import Ranks, ranks_of
from coterie.chain.synthesis.tree import GRID, support
from coterie.schema.exact import float_up
from coterie.table.columns.column import Column

Floats = NDArray[np.float64]
_ROUNDS = 500
_NEAR = 1e-10


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


def square_root(correlation: Floats) -> Floats:
    """A with A·Aᵀ = the correlation matrix, its rows of length 1 to the last bits."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root / np.linalg.norm(root, axis=1, keepdims=True))


# Few records, many attributes: one common factor instead of all pairs.
#
# All C(m, 2) rank correlations share one ε. Where their noise would drown them, only m are measured: Kendall's τ of each
# attribute with the sum of all others. A record's summands are normal scores by the *released* marginals, a function of that
# record alone, so replacing one record still touches n - 1 pairs of each τ: sensitivity 4/n. The correlations are then those
# of one common factor, R_ab = λ_a·λ_b.

_TOO_NOISY = Fraction(3, 20)
_FACTOR_ROUNDS = 200


def factor_is_better(records: int, attributes: int, epsilon: Fraction) -> bool:
    """Whether noise on all pairs would have a scale above 0.15: of n, m and ε alone. Two pairs or fewer need no factor."""
    pairs = attributes * (attributes - 1) // 2
    return attributes > 3 and Fraction(4 * pairs, records) / epsilon > _TOO_NOISY


def normal_scores(column: Column, marginal: Marginal) -> Floats:
    """Where each record stands in the released distribution, as a normal deviate."""
    from scipy.special import ndtri  # a tenth of a second to load: only those who need it pay

    released = np.sort(support(column, marginal))
    below, upto = (np.searchsorted(released, column.position, side=side) for side in ("left", "right"))
    return np.asarray(ndtri(np.clip((below + upto) / (2 * GRID), 0.5 / GRID, 1 - 0.5 / GRID)))


def sums_of_others(scores: Sequence[Floats]) -> list[Floats]:
    """Per record, the scores of all other attributes; added afresh each time, so that equal records get equal sums."""
    return [
        np.sum([other for number, other in enumerate(scores) if number != left_out], axis=0)
        for left_out in range(len(scores))
    ]


def factor_correlation(with_others: Floats) -> Floats:
    """R from the correlation of each attribute with the sum of the others, solving for the loadings λ.

    Under the model corr(z_a, Σ_{b≠a} z_b) = λ_a·S/√V, S = Σ_{b≠a} λ_b, V = (m - 1) + S² - Σ_{b≠a} λ_b².
    """
    loadings = with_others.copy()
    for _ in range(_FACTOR_ROUNDS):
        sums, squares = loadings.sum() - loadings, loadings**2
        spread = np.sqrt(len(loadings) - 1 + sums**2 - (squares.sum() - squares))
        # Where the others cancel out there is no common factor to load on.
        safe = np.copysign(np.maximum(np.abs(sums), 0.5), sums)
        new = np.minimum(
            np.maximum(with_others * spread / safe, -0.99), 0.99
        )  # np.clip takes three times as long
        loadings = 0.5 * loadings + 0.5 * new
    matrix = np.outer(loadings, loadings)
    np.fill_diagonal(matrix, 1.0)
    return np.asarray(matrix)


# Dependence by a Gaussian copula: Kendall's τ of every pair + Laplace, R = sin(πτ/2), rows drawn from N(0, R).
#
# Prior art: DPCopula (Li, Xiong, Jiang, EDBT 2014). With p pairs the vector of all C - D moves by at most p·2(n
# - 1) in L1, so
# Laplace noise of scale 2(n - 1)·p/ε on each makes it ε-DP. All that follows reads noisy numbers only. Where
# C(m, 2) pairs are
# too many for ε, the pairs are (attribute, sum of the others): coterie.chain.synthesis.copula.

_DEPENDENCE = Fraction(1, 5)  # of ε; the marginals get the rest
# Public guesses of the variance of τ, before seeing any: between two attributes, and of one with the sum of the others.
_DROWNED = 1e100  # a scale whose square is still a double; nothing is left of τ long before
PAIR_VARIANCE = 0.05
SUM_VARIANCE = 0.15


@dataclass(frozen=True, slots=True)
class GaussianCopula:
    stages: str = (
        "Kendall's τ of pairs, or with the sum of the others · Laplace, scale 4/n / ε · Gaussian copula"
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
        correlation = noisy_matrix(columns, marginals, epsilon, sampler)
        deviates = np.column_stack([_normal(sampler, len(columns[name].position), name) for name in names])
        scores = deviates @ square_root(correlation).T
        return {name: ranks_of(scores[:, number]) for number, name in enumerate(names)}


def noisy_matrix(
    columns: Mapping[str, Column], marginals: Mapping[str, Marginal], epsilon: Fraction, sampler: Sampler
) -> Floats:
    """All pairs, or one common factor where the noise on all pairs would be too large: a public choice."""
    positions = [column.position for column in columns.values()]
    tied = np.array([marginals[name].tied for name in columns])
    if len(positions) == 1:
        return np.eye(1)
    if factor_is_better(len(positions[0]), len(positions), epsilon):
        scores = [normal_scores(column, marginals[name]) for name, column in columns.items()]
        sums = list(zip(positions, sums_of_others(scores), strict=True))
        return factor_correlation(noisy_correlations(sums, tied, SUM_VARIANCE, epsilon, sampler))
    choice = list(combinations(range(len(positions)), 2))
    pairs = [(positions[a], positions[b]) for a, b in choice]
    either = np.array([1 - (1 - tied[a]) * (1 - tied[b]) for a, b in choice])
    return _matrix(choice, noisy_correlations(pairs, either, PAIR_VARIANCE, epsilon, sampler), len(positions))


def noisy_correlations(
    pairs: Sequence[tuple[Floats, Floats]], tied: Floats, prior: float, epsilon: Fraction, sampler: Sampler
) -> Floats:
    """The only step that reads data: one noisy τ a pair, each with an equal part of ε; then sin(πτ/2).

    `tied` says how likely two records are tied in the pair, by the released marginals: tied pairs count 0 in τ-a, and
    must not pass for independence. `prior` is the variance of τ that one expects.
    """
    n = len(pairs[0][0])
    exact = np.array([float(concordance(x, y)) for x, y in pairs])
    # C - D is exact as a double up to n = 10^8; beyond, two neighbours may round apart by 2^-53 of all pairs each.
    reach = np.full(len(pairs), float_up(concordance_sensitivity(n) + Fraction(n * (n - 1), 2**53)))
    scales = laplace_scales(reach, epsilon / len(pairs))
    grid = whole_grid(n * (n - 1) // 2, float(scales.max())) if sampler.private else None
    noisy = sampler.laplace(exact, scales, "coterie: Kendall's tau", grid)
    # From here on post-processing.
    all_pairs = n * (n - 1) / 2
    variance = 2 * np.minimum(scales / all_pairs, _DROWNED) ** 2
    tau = noisy / all_pairs * prior / (prior + variance)
    free = np.sqrt(np.maximum(1 - tied, 1e-4))
    return np.asarray(np.sin(np.pi / 2 * np.clip(tau / free, -1, 1)))


def _matrix(choice: Sequence[tuple[int, int]], correlations: Floats, size: int) -> Floats:
    matrix = np.eye(size)
    for (a, b), value in zip(choice, correlations, strict=True):
        matrix[a, b] = matrix[b, a] = value
    return nearest_correlation(matrix)


def _normal(sampler: Sampler, count: int, attribute: str) -> Floats:
    """Normal deviates: the middle of each of 2^53 cells, so never infinite."""
    from scipy.special import ndtri  # a tenth of a second to load: only those who need it pay

    words = sampler.uniform_words(count, f"{attribute}: normal deviates of the copula")
    return np.asarray(ndtri(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53))
