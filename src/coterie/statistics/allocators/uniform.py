"""The same budget for every measurement: what one does without a plan, and the benchmark of Nunes 2024."""

from __future__ import annotations

import numpy as np

from coterie.statistics.allocators.allocator import Allocator, Array, Problem


def allocate(problem: Problem) -> Array:
    return problem.feasible.fill(np.ones(problem.feasible.count))


ALLOCATORS = (Allocator("uniform", "the same for all", "Nunes 2024, §5.4", allocate, order=10),)
