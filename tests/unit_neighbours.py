"""How far one privacy unit moves a reading: by enumeration of all units of 0 to c rows beside all tables of a few others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any, TypeVar

import numpy as np

Row = TypeVar("Row")


def moves(
    read: Callable[[list[Row]], Any], kinds: Sequence[Row], c: int, others: int | Iterable[Sequence[Row]] = 0
) -> dict[str, tuple[float, float, float]]:
    """The largest moves in L1, L2 and L∞ under each relation (the design's UNITS.md, section 1).

    S: the contents of a unit are replaced, and their number stays. A: it is there or not. X: it is exchanged for any other
    of 0 to c rows. Order plays no part in a reading, so a unit is a multiset, and so are the rows beside it.
    """
    if isinstance(others, int):
        others = [rest for size in range(others + 1) for rest in combinations_with_replacement(kinds, size)]
    units = [unit for size in range(c + 1) for unit in combinations_with_replacement(kinds, size)]
    found = {relation: np.zeros(3) for relation in "SAX"}
    for rest in others:
        values = [np.asarray(read([*rest, *unit]), dtype=float).ravel() for unit in units]
        for (one, first), (other, second) in combinations(zip(units, values, strict=True), 2):
            moved = np.abs(first - second)
            norms = np.array([moved.sum(), float(np.sqrt(moved @ moved)), moved.max(initial=0.0)])
            for relation in "X" + "S" * (len(one) == len(other)) + "A" * (not one or not other):
                found[relation] = np.maximum(found[relation], norms)
    return {relation: tuple(norms) for relation, norms in found.items()}  # type: ignore[misc]
