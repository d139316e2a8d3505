"""max(Σ expression (2), Σ expression (3))/|C|: the whole list of trimmed centroids at once, scale frozen at the data (ours).

Let one value rise from x to x'. Every cluster strictly between loses its smallest value and gains a new largest: its
trimmed sum changes by exactly expression (2) of 000 Prop. 3. The first cluster touched loses some value instead of its
smallest, the last gains some value instead of a new largest; trimmed sums rise with every value, so there the change lies
between 0 and expression (2). In total at most Σ expression (2); for a falling value, Σ expression (3). With noise of scale
max(Σ(2), Σ(3))/(|C_j|ε) on centroid j the list loses Σ_j |Δc_j|·|C_j|·ε/max(…) ≤ ε. Values beyond the data's range are
trimmed, so no bound of the domain enters.

Rounding: a trimmed sum of s values up to M in double precision is off by at most 1.01·(s + 4)·s·u·M (u = 2^-53), twice for
two neighbours, and dividing adds as much as one more addition: below 8·(s + 4)·s·u·M a cluster. That is added to the sums.
"""

from __future__ import annotations

import numpy as np

from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound
from coterie.sensitivity.cluster_based import fall, rise


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    size = summary.size.astype(np.float64)
    largest = max(abs(domain.lower), abs(domain.upper))
    slack = 8 * 2.0**-53 * largest * float(np.sum((size + 4) * size))
    reach = max(float(rise(summary).sum()), float(fall(summary).sum()))
    # The sums above are rounded too: n·2^-52 is more than their relative error.
    return np.asarray((reach * (1 + 2.0**-52 * size.sum()) + slack) * (1 + 2.0**-50) / size)


CLUSTER_BASED_JOINT = Bound(
    formula="max(Σ expression (2), Σ expression (3))/|C|",
    citation="000 Prop. 3, summed",
    depth=3,
    needs_all_clusters=True,
    compute=_compute,
)
