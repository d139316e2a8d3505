"""The frozen value a recipe names: a bound, what it is called, and how many order statistics it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain


@dataclass(frozen=True, slots=True)
class Bound:
    formula: str
    citation: str
    depth: int
    compute: Callable[[Summary, Domain, int], Floats]
    # n, k → scale times ε in units of the domain's width: at least so wide, whatever the data. None: it may be 0.
    reach: Callable[[int, int], Fraction] | None = None
    needs_domain: bool = True  # False: clusters of several attributes can be given at once
    needs_all_clusters: bool = False  # it adds up over clusters: a piece of them would give too small a bound
