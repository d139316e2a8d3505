"""Dependence by a Gaussian copula: Kendall's τ of every pair + Laplace, R = sin(πτ/2), rows drawn from N(0, R).

Prior art: DPCopula (Li, Xiong, Jiang, EDBT 2014). The vector of all C - D moves by at most C(m, 2)·2(n - 1) in L1, so
Laplace noise of scale 2(n - 1)·C(m, 2)/ε on each makes it ε-DP. All that follows reads noisy numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from coterie.budget import float_up
from coterie.columns.column import Column
from coterie.noise.sampler import Sampler, laplace_scales
from coterie.synthesis.correlation import nearest_correlation, square_root
from coterie.synthesis.kendall import concordance, concordance_sensitivity
from coterie.synthesis.marginal import Marginal
from coterie.synthesis.synthesis import Ranks, ranks_of

Floats = NDArray[np.float64]

_DEPENDENCE = Fraction(1, 5)  # of ε; the marginals get the rest
_PRIOR_VARIANCE = 0.05  # of τ between attributes of a table, before seeing any: a public guess


@dataclass(frozen=True, slots=True)
class GaussianCopula:
    stages: str = "Kendall's τ of every pair · Laplace, scale 4/n / ε · Gaussian copula"

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
        positions = [columns[name].position for name in names]
        tied = np.array([marginals[name].tied for name in names])
        correlation = np.eye(1)
        if len(names) > 1:
            correlation = noisy_correlation(positions, tied, epsilon, sampler)
        deviates = np.column_stack([_normal(sampler, len(positions[0]), name) for name in names])
        scores = deviates @ square_root(correlation).T
        return {name: ranks_of(scores[:, number]) for number, name in enumerate(names)}


def noisy_correlation(positions: list[Floats], tied: Floats, epsilon: Fraction, sampler: Sampler) -> Floats:
    """The only step that reads data: one noisy τ a pair, each with an equal part of ε."""
    n, m = len(positions[0]), len(positions)
    pairs = list(combinations(range(m), 2))
    exact = np.array([float(concordance(positions[a], positions[b])) for a, b in pairs])
    # C - D is exact as a double up to n = 10^8; beyond, two neighbours may round apart by 2^-53 of all pairs each.
    reach = np.full(len(pairs), float_up(concordance_sensitivity(n) + Fraction(n * (n - 1), 2**53)))
    scales = laplace_scales(reach, epsilon / len(pairs))
    noisy = sampler.laplace(exact, scales, "coterie: Kendall's tau")
    # From here on post-processing.
    all_pairs = n * (n - 1) / 2
    variance = 2 * (scales / all_pairs) ** 2
    tau = noisy / all_pairs * _PRIOR_VARIANCE / (_PRIOR_VARIANCE + variance)
    matrix = np.eye(m)
    for (a, b), value in zip(pairs, tau, strict=True):
        # Tied pairs count 0 in τ-a. The noisy marginals tell how many there are, so that ties do not pass for independence.
        free = np.sqrt(max(1 - tied[a], 0.01) * max(1 - tied[b], 0.01))
        matrix[a, b] = matrix[b, a] = np.sin(np.pi / 2 * np.clip(value / free, -1, 1))
    return nearest_correlation(matrix)


def _normal(sampler: Sampler, count: int, attribute: str) -> Floats:
    """Normal deviates: the middle of each of 2^53 cells, so never infinite."""
    words = sampler.uniform_words(count, f"{attribute}: normal deviates of the copula")
    return np.asarray(ndtri(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53))
