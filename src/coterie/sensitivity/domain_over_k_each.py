"""(n/k)·Δ/k: every centroid may move by Δ/k at once (001 §2.4 and §3.1, for multivariate groups).

Insensitive MDAV changes each group by at most one record, but nothing telescopes: the order is not that of the
attribute, so each of the n/k means may move by Δ/k.

Means are computed in double precision. A sum of s values up to M is off by at most s·u per value (u = 2^-53), so two
neighbouring means differ by at most 2·s·u·M more than exact ones; s < 2k. That slack is added, because this bound backs a
promise that is called proved.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.budget import float_up
from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    records = summary.shape.records
    largest = max(abs(Fraction(domain.lower)), abs(Fraction(domain.upper)))
    each = domain.width / k + 4 * k * largest / 2**53
    return np.full(len(summary.size), float_up(Fraction(records, k) * each))


DOMAIN_OVER_K_EACH = Bound(
    formula="(n/k)·Δ/k", citation="001 §2.4", depth=0, compute=_compute, reach=lambda n, k: Fraction(n, k * k)
)
