"""Δ/|C|: how far one record of a cluster moves its mean when membership is fixed (000 §3.1)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.budget import quotient_up
from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    sizes = np.bincount(summary.size).nonzero()[0]
    each = np.zeros(sizes[-1] + 1)
    numerator, denominator = domain.width.as_integer_ratio()
    each[sizes] = [quotient_up(numerator, denominator * size) for size in sizes.tolist()]
    return each.take(summary.size)


DOMAIN_OVER_SIZE = Bound(
    formula="Δ/|C|", citation="000 §3.1", depth=0, compute=_compute, reach=lambda n, k: Fraction(1, 2 * k)
)
