"""Publish summary statistics with the best possible split of the budget (paper 002, and beyond).

    specification → design → plan → release

`read_specification` says what goes out and what analysts will compute from it; `plan` splits the budget
without a look at the data, `resplit` moves budget by hand; `release` computes, adds noise and writes, charged once.
"""

from coterie.statistics.allocators import allocators
from coterie.statistics.by_hand import resplit
from coterie.statistics.plan import Plan
from coterie.statistics.planning import plan
from coterie.statistics.publishing import release
from coterie.statistics.reading import read_specification
from coterie.statistics.solving import solve_budget
from coterie.statistics.specification import Specification
from coterie.statistics.stored import Published

__all__ = [
    "Plan",
    "Published",
    "Specification",
    "allocators",
    "plan",
    "read_specification",
    "release",
    "resplit",
    "solve_budget",
]
