"""Ways of splitting a budget, one per file; each new file is found by itself, nobody edits a list.

A file defines `ALLOCATORS`, a tuple of `Allocator`s; other packages offer theirs by the entry points `coterie.allocators`.
"""

from __future__ import annotations

from functools import cache

from coterie.errors import ParameterError, nearest
from coterie.registry import discover
from coterie.statistics.allocators.allocator import Allocator, NotApplicable, Problem

DEFAULT = "gradient"

__all__ = ["DEFAULT", "Allocator", "NotApplicable", "Problem", "allocators", "find_allocator"]


@cache
def allocators() -> dict[str, Allocator]:
    """All allocators by name, the default first."""
    found = discover(__name__, __path__, "ALLOCATORS", Allocator, "coterie.allocators")
    return {
        one.name: one for one in sorted(found, key=lambda one: (one.name != DEFAULT, one.order, one.name))
    }


def find_allocator(name: str) -> Allocator:
    if name not in allocators():
        raise ParameterError(f"There is no allocator '{name}'.", nearest(name, allocators()))
    return allocators()[name]
