"""Noisy correlations → a matrix that some normal distribution has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
