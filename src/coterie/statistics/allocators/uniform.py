"""The same budget for every measurement: what one does without a plan, and the benchmark of Nunes 2024."""

from __future__ import annotations

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators.allocator import Allocator, Problem


def allocate(problem: Problem) -> Floats:
    return problem.feasible.fill(np.ones(problem.feasible.count))


ALLOCATORS = (Allocator("uniform", "the same for all", "Nunes 2024, §5.4", allocate, order=10),)
