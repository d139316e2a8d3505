"""Local sensitivity of a mean, membership fixed (000 Prop. 2).

The worst replacement takes the cluster's smallest value to the top of the domain or its largest to the bottom.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    upward = domain.upper - summary.low[:, 0]
    downward = summary.high[:, 0] - domain.lower
    return np.maximum(upward, downward) / summary.size


LOCAL = Bound(
    formula="max(max A − min C, max C − min A)/|C|",
    citation="000 Prop. 2",
    depth=1,
    compute=_compute,
    reach=lambda n, k: Fraction(1, 4 * k),
)
