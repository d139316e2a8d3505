"""Δ/k for the sorted list of means *as computed*: 001 Lemma 1 with room for rounding.

Lemma 1: clusters hold consecutive sorted values, and their sizes follow from n and k. Replacing x by x' shifts each cluster
between the two places by one neighbouring value; the shifts of the sums telescope to |x' - x| ≤ Δ, and each sum is divided
by at least k. Ties do not matter: the sorted values, hence the sums, are the same however they are broken.

Rounding: values are counted from the lower bound, so they lie in [0, Δ]. A sum of s of them in double precision, divided by
s, is off by at most 1.01·s·u·Δ (u = 2^-53), and by another amount under the neighbour, because the order of addition is the
order of records. Over all clusters that is at most 2.02·n·u·Δ; 4·n·u·Δ is added.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.budget import float_up
from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    """`domain` starts at 0: the caller has shifted the values."""
    records = int(summary.size.sum())
    width = Fraction(domain.upper)
    return np.full(len(summary.size), float_up(width / k + 4 * records * width / 2**53))


SORTED_LIST = Bound(formula="Δ/k (with room for rounding)", citation="001 Lemma 1", depth=0, compute=_compute)
