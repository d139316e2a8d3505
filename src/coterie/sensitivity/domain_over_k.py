"""Δ/k: how far one replacement moves the whole list of centroids (001 Lemma 1).

Clusters hold consecutive sorted values. Moving one record shifts each cluster between its old and its new place by one
neighbouring value; the shifts telescope to |x' - x| ≤ Δ, and every cluster has at least k members.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.budget import quotient_up
from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    numerator, denominator = domain.width.as_integer_ratio()
    return np.full(len(summary.size), quotient_up(numerator, denominator * k))


DOMAIN_OVER_K = Bound(
    formula="Δ/k", citation="001 Lemma 1", depth=0, compute=_compute, reach=lambda n, k: Fraction(1, k)
)
