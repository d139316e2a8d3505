"""E|c₁N₁ + … + c_kN_k| for independent noises, exactly, with its derivatives.

    E|S| = (2/π) ∫₀^∞ (1 − φ_S(t)) t⁻² dt,     φ_S(t) = Π φ(β_i t),  β_i = |c_i|·scale_i.

With t = e^u / max β the integrand is analytic in a strip and falls as e^−|u| on both sides, so the plain
trapezoid rule converges exponentially: the fixed grid below is exact to about 1e-13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.noise_model import Family, log_characteristic

Array = NDArray[np.float64]

_STEP = 0.15
_GRID = np.arange(-34.0, 34.0 + _STEP / 2, _STEP)
_T = np.exp(_GRID)


def mean_absolute_sum(families: Sequence[Family], scales: Array) -> Array:
    """E|S| for each row of `scales` (allocations × noises)."""
    scales = np.atleast_2d(np.asarray(scales, dtype=np.float64))
    if all(family.gaussian for family in families):
        return np.asarray(np.sqrt((scales**2).sum(axis=1)) * math.sqrt(2.0 / math.pi))
    largest = scales.max(axis=1)
    results = np.empty(len(scales))
    for start in range(0, len(scales), 4096):
        part = slice(start, start + 4096)
        logs = np.zeros((len(largest[part]), len(_T)))
        for index, family in enumerate(families):
            logs += log_characteristic(family, (scales[part, index] / largest[part])[:, None] * _T)
        results[part] = (2.0 / math.pi) * _STEP * (-np.expm1(logs) / _T).sum(axis=1) * largest[part]
    return results


def sum_gradient(families: Sequence[Family], scales: Array) -> Array:
    """∂E|S|/∂scale_i at one allocation."""
    scales = np.asarray(scales, dtype=np.float64)
    if all(family.gaussian for family in families):
        return scales * (math.sqrt(2.0 / math.pi) / math.sqrt(float((scales**2).sum())))
    largest = float(scales.max())
    beta = scales / largest
    parts = np.exp([log_characteristic(family, b * _T) for family, b in zip(families, beta, strict=True)])
    product = parts.prod(axis=0)
    gradient = np.empty(len(beta))
    for index, family in enumerate(families):
        # −φ′(βt)/φ(βt)·t: 2βt²/(1+β²t²) for Laplace, βt² for Gaussian; one t⁻² of the integral cancels.
        slope = beta[index] if family.gaussian else 2.0 * beta[index] * parts[index]
        gradient[index] = (2.0 / math.pi) * _STEP * (product * slope * _T).sum()
    return gradient
