"""Δ/|C|: how far one record of a cluster moves its mean when membership is fixed (000 §3.1)."""

from __future__ import annotations

import numpy as np

from coterie.budget import float_up
from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    sizes, which = np.unique(summary.size, return_inverse=True)
    return np.array([float_up(domain.width / int(size)) for size in sizes])[which]


DOMAIN_OVER_SIZE = Bound(formula="Δ/|C|", citation="000 §3.1", depth=0, compute=_compute)
