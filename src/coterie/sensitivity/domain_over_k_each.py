"""(n/k)·Δ/k: every centroid may move by Δ/k at once (001 §2.4 and §3.1, for multivariate groups).

Insensitive MDAV changes each group by at most one record, but nothing telescopes: the order is not that of the
attribute, so each of the n/k means may move by Δ/k.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.budget import float_up
from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    records = int(summary.size.sum())
    return np.full(len(summary.size), float_up(Fraction(records, k) * domain.width / k))


DOMAIN_OVER_K_EACH = Bound(formula="(n/k)·Δ/k", citation="001 §2.4", depth=0, compute=_compute)
