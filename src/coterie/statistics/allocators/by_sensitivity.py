"""In proportion to the sensitivity: every measurement gets noise of the same size."""

from __future__ import annotations

from coterie.schema.arrays import Floats
from coterie.statistics.allocators.allocator import Allocator, Problem


def allocate(problem: Problem) -> Floats:
    return problem.feasible.fill(problem.coefficients**problem.powers)


ALLOCATORS = (
    Allocator("sensitivity", "in proportion to the sensitivity", "common practice", allocate, order=15),
)
