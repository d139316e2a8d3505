"""The public candidates for a bound: a geometric grid for numbers, an even one for dates. No data are read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.schema import Attribute, AttributeType, Domain

Floats = NDArray[np.float64]

_OCTAVES = 20  # the finest candidate lies at 2^-20 of the range
_EVEN = 128


def candidates(attribute: Attribute, widest: Domain) -> Floats:
    """Rising candidates inside the widest range, its ends included.

    Numbers: 0 (or the lower end, where 0 is outside) and from there both ways by factors of √2, because people know
    the magnitude of a quantity less well than anything else about it.
    """
    whole = attribute.type in (AttributeType.INTEGER, AttributeType.DATE, AttributeType.TIMESTAMP)
    if attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        grid = np.linspace(widest.lower, widest.upper, _EVEN + 1)
    else:
        start = 0.0 if widest.lower <= 0 <= widest.upper else widest.lower
        reach = max(widest.upper - start, start - widest.lower)
        distances = reach * 2.0 ** (-np.arange(2 * _OCTAVES + 1) / 2)
        grid = start + np.concatenate([-distances, [0.0], distances])
    if whole:
        grid = np.rint(grid)
    inside = grid[(grid >= widest.lower) & (grid <= widest.upper)]
    return np.unique(np.concatenate([[widest.lower], inside, [widest.upper]]))
