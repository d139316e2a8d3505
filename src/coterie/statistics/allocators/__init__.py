"""Ways of splitting a budget, one per file; each new file is found by itself, nobody edits a list.

A file defines `ALLOCATORS`, a tuple of `Allocator`s; other packages offer theirs by the entry points `coterie.allocators`.
"""

from __future__ import annotations

from functools import cache

from coterie.registry import discover, look_up
from coterie.statistics.allocators.allocator import Allocator, NotApplicable, Problem

DEFAULT = "gradient"

__all__ = ["DEFAULT", "Allocator", "NotApplicable", "Problem", "allocators", "find_allocator"]


@cache
def allocators() -> dict[str, Allocator]:
    """All allocators by name, the default first."""
    return discover(
        __name__,
        __path__,
        "ALLOCATORS",
        Allocator,
        "coterie.allocators",
        lambda one: (one.name != DEFAULT, one.order, one.name),
    )


def find_allocator(name: str) -> Allocator:
    return look_up("allocator", name, allocators())
