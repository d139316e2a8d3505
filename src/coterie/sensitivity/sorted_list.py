"""Δ/|C| for the sorted list of means *as computed*: 001 Lemma 1 with room for rounding.

Lemma 1: clusters hold consecutive sorted values, and their sizes do not depend on the data. Replacing x by x' shifts each
cluster between the two places by one neighbouring value; the shifts of the sums telescope: Σ|ΔS_j| = |x' - x| ≤ Δ. Noise of
scale Δ/(|C_j|ε) on mean j loses Σ (|ΔS_j|/|C_j|)·(|C_j|ε/Δ) ≤ ε. (With groups of k: Δ/k, but for the larger last one.)
Ties do not matter: the sorted values, hence the sums, are the same however they are broken.

Rounding: values are counted from the lower bound, so they lie in [0, Δ]. A sum of s of them in double precision, divided by
s, is off by at most 1.01·s·u·Δ (u = 2^-53), and by another amount under the neighbour, because the order of addition is the
order of records. In units of Δ/s that is 2.02·s²·u; 1 + 4·u·Σ|C_j|² times the scale covers all clusters together.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.budget import float_up
from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    sizes, which = np.unique(summary.size, return_inverse=True)
    squares = sum(int(size) ** 2 for size in summary.size)
    width = Fraction(domain.upper - domain.lower)  # as computed: no shifted value is larger
    reach = width * (1 + Fraction(4 * squares, 2**53))
    return np.array([float_up(reach / int(size)) for size in sizes])[which]


SORTED_LIST = Bound(
    formula="Δ/|C| (with room for rounding)",
    citation="001 Lemma 1",
    depth=0,
    compute=_compute,
    reach=lambda n, k: Fraction(1, 2 * k),
)
