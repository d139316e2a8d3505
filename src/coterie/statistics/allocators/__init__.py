"""One way of splitting a budget a file; each new file is found by itself, nobody edits a list.

A file defines `ALLOCATORS`, a tuple of `Allocator`s.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from coterie.errors import ParameterError, nearest
from coterie.statistics.allocators.allocator import Allocator, NotApplicable, Problem

DEFAULT = "gradient"

__all__ = ["DEFAULT", "Allocator", "NotApplicable", "Problem", "allocators", "find_allocator"]


@lru_cache(maxsize=1)
def allocators() -> dict[str, Allocator]:
    """All allocators by name, the default first."""
    found: dict[str, Allocator] = {}
    for module in pkgutil.iter_modules(__path__):
        for allocator in getattr(importlib.import_module(f"{__name__}.{module.name}"), "ALLOCATORS", ()):
            if allocator.name in found:
                raise RuntimeError(f"two allocators are called {allocator.name}")
            found[allocator.name] = allocator
    return dict(sorted(found.items(), key=lambda entry: (entry[0] != DEFAULT, entry[1].order, entry[0])))


def find_allocator(name: str) -> Allocator:
    if name not in allocators():
        raise ParameterError(f"There is no allocator '{name}'.", nearest(name, allocators()))
    return allocators()[name]
