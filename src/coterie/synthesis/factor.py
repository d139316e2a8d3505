"""Few records, many attributes: one common factor instead of all pairs.

All C(m, 2) rank correlations share one ε. Where their noise would drown them, only m are measured: Kendall's τ of each
attribute with the sum of all others. A record's summands are normal scores by the *released* marginals, a function of that
record alone, so replacing one record still touches n - 1 pairs of each τ: sensitivity 4/n. The correlations are then those
of one common factor, R_ab = λ_a·λ_b.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.columns.column import Column
from coterie.synthesis.bins import GRID, support
from coterie.synthesis.marginal import Marginal

Floats = NDArray[np.float64]

_TOO_NOISY = Fraction(3, 20)
_ROUNDS = 200


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
    for _ in range(_ROUNDS):
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
