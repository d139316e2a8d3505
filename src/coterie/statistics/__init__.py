"""Publish summary statistics with the best possible split of the budget (Nunes 2024, and beyond).

    specification → design → plan → release

`read_specification` says what goes out and what analysts will compute from it, and `from_sql` writes that from
queries; `plan` splits the budget without a look at the data, `resplit` moves budget by hand; `release` computes, adds
noise and writes, charged once.
"""

from coterie.statistics.allocators import allocators
from coterie.statistics.planning.by_hand import resplit
from coterie.statistics.planning.choosing import plan
from coterie.statistics.planning.plan import Plan
from coterie.statistics.planning.solving import solve_budget
from coterie.statistics.releasing.publishing import release
from coterie.statistics.releasing.released_files import Published
from coterie.statistics.specification.reading import read_specification
from coterie.statistics.specification.specification import Specification
from coterie.statistics.sql.queries import from_sql

__all__ = [
    "Plan",
    "Published",
    "Specification",
    "allocators",
    "from_sql",
    "plan",
    "read_specification",
    "release",
    "resplit",
    "solve_budget",
]
