"""Arithmetic progression: shares n, n − 1, …, 1 or the other way round (used for random forests, Nunes 2024, §3.2)."""

from __future__ import annotations

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators.allocator import Allocator, Problem


def falling(problem: Problem) -> Floats:
    return problem.feasible.fill(np.arange(problem.feasible.count, 0, -1.0))


def rising(problem: Problem) -> Floats:
    return problem.feasible.fill(np.arange(1.0, problem.feasible.count + 1.0))


ALLOCATORS = (
    Allocator("arithmetic", "arithmetic progression, falling", "Nunes 2024, §3.2", falling, order=24),
    Allocator("arithmetic-rising", "arithmetic progression, rising", "Nunes 2024, §3.2", rising, order=25),
)
