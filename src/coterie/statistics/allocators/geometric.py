"""Geometric series (Bai et al., in Nunes 2024, §3.1): k_i = (1 − r)·r^(i−1) with r = (n − 1)/n, calibrated to sum to 1."""

from __future__ import annotations

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators.allocator import Allocator, Problem


def shares(count: int) -> Floats:
    """The calibrated shares k*_i = k_i / Σk; with one query there is nothing to split."""
    ratio = (count - 1) / count
    terms = ratio ** np.arange(count) if count > 1 else np.ones(1)
    return np.asarray(terms / terms.sum())


def falling(problem: Problem) -> Floats:
    return problem.acceptable().fill(shares(problem.feasible.count))


def rising(problem: Problem) -> Floats:
    return problem.acceptable().fill(shares(problem.feasible.count)[::-1])


ALLOCATORS = (
    Allocator("geometric", "geometric series, falling", "Bai et al.; Nunes 2024, §3.1", falling, order=20),
    Allocator(
        "geometric-rising", "geometric series, rising", "Bai et al.; Nunes 2024, §3.1", rising, order=21
    ),
)
